"""IR axioms: minimal pairs that differ in one thing, and which side should score higher."""
