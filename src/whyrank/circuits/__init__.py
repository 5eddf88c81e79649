"""Circuits: which heads reach the score, what each does, and a model made of them."""
