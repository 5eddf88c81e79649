"""Edits: changes of a ranker's weights that compose, undo and save."""
