"""Damaged inputs of every kind, through the command line: each is read rightly or refused in one line.

`campaign.py` makes and runs them, `kinds/` knows valid inputs of every kind, `in_process.py` runs a command in
this process, `verdict.py` says what became of it. The tests run 1,000 of them, `benchmarks/mutations.py` any
number.
"""
