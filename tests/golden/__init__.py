"""What every command wrote before the layout was moved, frozen, and whether the present commands still write it.

`cases.py` has the command lines, `freeze.py` made `frozen/` and `inputs/` from commit 26408b1, `digest.py` reads
what a command left, `compare.py` compares two digests, and `meant.py` lists the differences that are meant.
"""
