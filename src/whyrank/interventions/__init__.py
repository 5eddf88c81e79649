"""Interventions: what each part of a ranker does to its score."""
