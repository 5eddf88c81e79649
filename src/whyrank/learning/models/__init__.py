"""Models that are trained here: one file each, the paper's equations in their docstrings."""
