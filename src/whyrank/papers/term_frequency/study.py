"""How neural rankers count a term: one study per ranker, each in its own run folder, and the atlas of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from whyrank.axioms.make import Choices
from whyrank.collections.collection import Collection
from whyrank.collections.opening import collection_of
from whyrank.core.caller import SILENT, Caller
from whyrank.core.errors import UserError
from whyrank.core.runs import Run
from whyrank.papers.study import Study, run_study
from whyrank.papers.term_frequency.analysis import RankerAnalysis
from whyrank.papers.term_frequency.atlas import Atlas, atlas
from whyrank.papers.term_frequency.counting import PAPERS_SLOTS
from whyrank.papers.term_frequency.results import TermFrequencyStudy
from whyrank.papers.term_frequency.sizes import Sizes
from whyrank.rankers.neural import NeuralRanker
from whyrank.rankers.opening import neural_ranker
from whyrank.rankers.rerank import safe_name


def study(
    ranker: str | Sequence[str],
    collection: str | Collection = "trec-rag-2024",
    *,
    out: Path | str,
    term: str = "effect",
    hide_insignificant: bool = False,
    quick: bool = False,
    sizes: Sizes | None = None,
    seed: int = 0,
    device: str = "cpu",
    caller: Caller = SILENT,
) -> Atlas:
    """How rankers count a term: heads, positions, saturation, flow, estimators, open questions, an atlas.

    `term` says how each query's term is chosen: `effect` (whose appending moves scores most), `document`, `idf` or
    `random`. `hide_insignificant`: maps are coloured only where they are significant. `quick`: small sizes;
    `sizes`: your own. Rankers that are done in `out` are not studied again.
    """
    Choices(term=term)  # refuses an unknown one before anything is read
    sizes = sizes or (Sizes.quick() if quick else Sizes())
    names = [ranker] if isinstance(ranker, str) else list(ranker)
    documents = collection_of(collection, caller)
    opened = {name: neural_ranker(name, sizes.max_length, device) for name in names}
    if len({safe_name(name) for name in opened}) < len(names):
        raise UserError("two rankers of one name", todo="give each ranker once")
    asked = TermFrequencyOfRankers(opened, documents, sizes, term, hide_insignificant, seed, device)
    found = run_study(asked, out, caller)
    assert isinstance(found, Atlas)
    return found


@dataclass(frozen=True)
class TermFrequencyOfRankers(Study):
    """What was asked, opened."""

    NAME: ClassVar[str] = "term-frequency"

    rankers: Mapping[str, NeuralRanker]
    collection: Collection
    sizes: Sizes
    term: str
    hide_insignificant: bool
    seed: int
    device: str

    def inputs(self) -> dict[str, Any]:
        """The rankers are not among them: a folder takes more of them, or fewer."""
        return {
            "collection": self.collection.fingerprint(), "split": self.collection.split, "sizes": vars(self.sizes),
            "term": self.term, "seed": self.seed,
        }  # fmt: skip

    def facts(self) -> dict[str, Any]:
        return {"rankers": list(self.rankers)}

    def results(self, run: Run) -> Iterator[Atlas]:
        """Each ranker in its own run folder, then the atlas."""
        assert run.path is not None
        studies = []
        for i, (name, ranker) in enumerate(self.rankers.items(), start=1):
            run.say(f"\n[{i}/{len(self.rankers)}] {name}: {ranker.source}; {ranker.encoder}")
            studies.append(self._of(name, ranker, run.path / safe_name(name), run.caller))
        yield atlas(studies, [safe_name(name) for name in self.rankers])

    def _of(self, name: str, ranker: NeuralRanker, out: Path, caller: Caller) -> TermFrequencyStudy:
        """One ranker's study; done before, it is only drawn as it is asked for now."""
        sizes = self.sizes.affordable(ranker.encoder)
        inputs = self.inputs() | {"ranker": ranker.fingerprint(), "sizes": vars(sizes)}
        with Run.open(out, TermFrequencyStudy.COMMAND, inputs, caller) as run:
            found = run.finished(TermFrequencyStudy)
            if found is not None and found.hide_insignificant == self.hide_insignificant:
                return found
            found = found or self._analysis(name, ranker, sizes, run).result()
            found = replace(found, hide_insignificant=self.hide_insignificant)
            run.save(found, pairs=sizes.pairs)
            return found

    def _analysis(self, name: str, ranker: NeuralRanker, sizes: Sizes, run: Run) -> RankerAnalysis:
        run.begin()
        more = PAPERS_SLOTS - (
            sizes.most_k + 1
        )  # a term of one piece then leaves the text as much room as without
        wide = neural_ranker(name, sizes.max_length + more, self.device)
        return RankerAnalysis(
            ranker, self.collection, sizes, run.stages(), run.progress, wide, run.path, self.term, self.seed
        )
