"""Valid inputs of every kind."""

from tests.mutations.kinds import checkpoints, collections, interrupted, results, words

KINDS = [*collections.KINDS, *checkpoints.KINDS, *words.KINDS, *results.KINDS, *interrupted.KINDS]
