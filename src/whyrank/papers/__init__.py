"""Studies: the papers end to end, one command each."""
