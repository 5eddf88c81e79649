"""The trained models that a study opens, from their folders, reading one sequence per document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from whyrank.core.errors import UserError
from whyrank.learning.models.network import TransformerNetwork
from whyrank.learning.trained import Trained
from whyrank.rankers.load import load
from whyrank.rankers.opening import neural_ranker

#: The two that are opened, by variant, and their names in reports.
BERT, DGRE = "bert", "dgre"
GROUPS = {BERT: "BERT", DGRE: "DGRe"}
#: The backbone that both began as.
BEFORE = "before training"


@dataclass(frozen=True)
class KeptModels:
    """The models of the first fold: variant -> seed -> folder. `max_length` tokens are read."""

    folders: Mapping[str, Mapping[int, Path]]
    max_length: int

    def names(self, title: str) -> list[str]:
        """Of a variant's models, one per seed."""
        return [f"{title}, seed {seed}" for seed in self.of(title)]

    def of(self, title: str) -> Mapping[int, Path]:
        """A variant's folders by seed; refused where it could not be trained."""
        if title not in self.folders:
            raise UserError(f"there is no trained {title} to open")
        return self.folders[title]

    def opened(self, title: str) -> list[Trained]:
        """A variant's models, each named by its seed, reading one chunk."""
        found = []
        for name, folder in zip(self.names(title), self.of(title).values(), strict=True):
            ranker = neural_ranker(str(folder), self.max_length)
            assert isinstance(ranker, Trained)
            ranker.name = name
            found.append(ranker)
        return found

    def network(self, title: str, *, whole: bool = False) -> TransformerNetwork:
        """The network of a variant's first seed, reading one chunk or, as it was trained, the `whole`."""
        folder = str(next(iter(self.of(title).values())))
        ranker = load(folder) if whole else neural_ranker(folder, self.max_length)
        assert isinstance(ranker, Trained)
        return ranker.network.eval()
