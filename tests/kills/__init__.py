"""Commands killed at every write, rename and delete and at random moments, then run again: nothing lost, nothing
doubled, nothing left over. `test_kills.py` kills some, `benchmarks/kills.py` many."""
