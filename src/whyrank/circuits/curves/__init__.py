"""How much of the score's gap a part of the ranker keeps alone: curves over the part's size.

A part is a set of nodes (heads, or heads and MLPs) or of edges between them. What is outside is held at the pair's
own baseline (as ACDC and EAP-IG do), at a mean, or at another pair's values; pairs are of queries that the search
did not use.
"""
