"""Pairs out of a collection: which queries, documents and terms; made, aligned, and counted where dropped."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from whyrank.axioms.axiom import Axiom, Draft, Material, Skip
from whyrank.axioms.fillers import PLAIN, Fillers
from whyrank.axioms.pair import MinimalPair
from whyrank.axioms.pool import Pool
from whyrank.axioms.realise import check_slots, fitted, own_filler
from whyrank.axioms.results import MinimalPairs
from whyrank.axioms.synonyms import InputEmbeddings, synonym_chooser
from whyrank.axioms.terms import TERM_POLICIES, document_term, random_term
from whyrank.collections.records import Retrieved
from whyrank.core.errors import UserError
from whyrank.core.parameters import check_counts, check_seed
from whyrank.core.progress import Progress
from whyrank.rankers.neural import NeuralRanker
from whyrank.rankers.ranker import CutsDocuments, Ranker
from whyrank.text.alignment import CannotAlign, Slotted
from whyrank.text.words import words


@dataclass(frozen=True)
class Choices:
    """How pairs are chosen; every value lands in the manifest.

    `documents` counts documents per axiom, `depth` how many documents of each query to choose from, `ranks` bands
    of the run instead (1-10, 91-100), `having` documents with or without the term (None: both).
    """

    documents: int = 100
    seed: int = 0
    term: str = "idf"
    filler: str = "a"
    depth: int = 100
    ranks: tuple[tuple[int, int], ...] = ()
    having: str | None = None

    def __post_init__(self) -> None:
        check_counts(1, documents=self.documents, depth=self.depth)
        check_seed(self.seed)
        if self.term not in TERM_POLICIES:
            raise UserError(f"unknown term policy '{self.term}'", todo=f"choose one of {', '.join(TERM_POLICIES)}")
        if self.having not in (None, "term", "no-term"):
            raise UserError(f"having cannot be '{self.having}'", todo="choose term or no-term")

    def takes(self, row: Retrieved) -> bool:
        bands = self.ranks or ((1, self.depth),)
        return any(first <= row.rank <= last for first, last in bands)


class PairMaker:
    """Makes the pairs of a collection's queries and documents, aligned for all the rankers that will read them."""

    def __init__(
        self,
        pool: Pool,
        rankers: Sequence[Ranker] = (),
        choices: Choices | None = None,
        *,
        wordnet: Callable[[str], list[str]] | None = None,
        synonyms: dict[str, list[str]] | None = None,
        query_term: Callable[[str], str] | None = None,
    ) -> None:
        self.pool, self.rankers, self.choices = pool, list(rankers), choices or Choices()
        self.neural = [ranker for ranker in rankers if isinstance(ranker, NeuralRanker)]
        self.cutting = [ranker for ranker in rankers if isinstance(ranker, CutsDocuments)]
        has_mask = any(own_filler("", ranker) not in PLAIN for ranker in self.neural)
        self.fillers = Fillers(self.choices.filler, pool.frequencies, has_mask, pool.index.analyzer)
        self.embeddings = InputEmbeddings(self.neural[0]) if self.neural else None
        self.wordnet, self.synonyms, self.query_term = wordnet, synonyms, query_term

    def make(self, axioms: Sequence[Axiom], progress: Progress | None = None) -> MinimalPairs:
        """The pairs of several axioms."""
        made: list[MinimalPair] = []
        dropped: dict[str, Counter[str]] = {}
        for axiom in axioms:
            dropped[str(axiom)] = Counter()
            documents = 0
            for row in self._candidates(axiom):
                pairs = list(self._pairs(axiom, row, dropped[str(axiom)]))
                made += pairs
                documents += bool(pairs)
                if progress and pairs:
                    progress(1)
                if documents == self.choices.documents:
                    break
            if progress and documents < self.choices.documents:
                progress(self.choices.documents - documents)
        return MinimalPairs(
            tuple(made), {axiom: dict(sorted(counts.items())) for axiom, counts in dropped.items()}
        )

    def _candidates(self, axiom: Axiom) -> list[Retrieved]:
        """The chosen documents in an order of their own for each seed, the queries by turns."""
        generator = random.Random(f"{self.choices.seed}")
        rows = {qid: [row for row in found if self.choices.takes(row)] for qid, found in self.pool.run.items()}
        queues = [generator.sample(found, len(found)) for found in rows.values() if found]
        generator.shuffle(queues)
        longest = max(map(len, queues), default=0)
        return [queue[i] for i in range(longest) for queue in queues if i < len(queue)]

    def _pairs(self, axiom: Axiom, row: Retrieved, dropped: Counter[str]) -> Iterator[MinimalPair]:
        try:
            material = self.material(axiom, row)
            drafts = list(axiom.drafts(material))
        except Skip as reason:
            dropped[str(reason)] += 1
            return
        for draft in drafts:
            try:
                yield self._pair(axiom, material, draft)
            except CannotAlign as reason:
                dropped[str(reason)] += 1

    def material(self, axiom: Axiom, row: Retrieved) -> Material:
        """What an axiom gets for one document; Skip where the choices rule the document out."""
        query, text = self.pool.queries[row.qid], self.pool.texts[row.docno]
        generator = random.Random(f"{self.choices.seed}|{axiom.name}:{axiom.variant}|{row.qid}|{row.docno}")
        terms = self.pool.terms(row.qid)
        term = self._term(row.qid, terms, text)
        text = self._shorten(query, text, 1.0, reserve=" ".join([term] * axiom.room))
        present = term in words(text)
        if self.choices.having and present != (self.choices.having == "term"):
            raise Skip("the term is in the text" if present else "the term is not in the text")
        return Material(
            qid=row.qid,
            query=query,
            docid=row.docno,
            text=text,
            rank=row.rank,
            term=term,
            terms=terms,
            random=generator,
            filler=self.fillers.choose(query, term, text, generator),
            idf=self.pool.idf,
            synonym=synonym_chooser(query, self.embeddings, self.wordnet, self.synonyms),
            other_texts=partial(self.pool.other_texts, row.qid, row.docno),
            foreign_sentences=partial(self.pool.foreign_sentences, row.qid),
            shorten=partial(self._shorten, query),
            stem=self.pool.index.analyzer,
        )

    def _term(self, qid: str, terms: tuple[str, ...], text: str) -> str:
        if self.choices.term == "document":
            return document_term(terms, text, self.pool.idf)
        if self.choices.term == "random":
            return random_term(terms, random.Random(f"{self.choices.seed}|term|{qid}"))
        return self.query_term(qid) if self.query_term else terms[0]

    def _pair(self, axiom: Axiom, material: Material, draft: Draft) -> MinimalPair:
        """Cut for every ranker in turn, so that one text serves them all; fillers as for the first."""
        plain = draft.slotted
        for ranker in self.cutting:
            cut = fitted(material.query, plain, material.filler, axiom.aligned, ranker)
            check_slots(axiom.name, axiom.variant, plain, cut)
            plain = _unpadded(cut, plain)
        shown = plain
        if self.neural:
            shown = fitted(material.query, plain, material.filler, axiom.aligned, self.neural[0])
        if shown.text("baseline") == shown.text("perturbed"):
            raise CannotAlign("nothing differs within the model's length")
        parts = [str(axiom), material.qid, material.docid] + ([str(draft.k)] if draft.k is not None else [])
        return MinimalPair(
            id=":".join(parts),
            query=material.query,
            baseline=shown.text("baseline"),
            perturbed=shown.text("perturbed"),
            axiom=axiom.name,
            variant=axiom.full_variant,
            qid=material.qid,
            docid=material.docid,
            term=draft.term,
            where=draft.where,
            k=draft.k,
            rank=material.rank,
            tf=material.count(draft.term) if draft.term else None,
            filler=material.filler,
            prefer=axiom.prefers,
            aligned=axiom.aligned,
            slot={side: shown.spans(side) for side in ("baseline", "perturbed")},
            contents={"baseline": list(plain.baseline), "perturbed": list(plain.perturbed)},
        )

    def _shorten(self, query: str, text: str, share: float, reserve: str = "") -> str:
        """The first words of a text, as many as fill a share of what each ranker has room for beside `reserve`."""
        for ranker in self.cutting:
            around = len(ranker.document_tokens(query, reserve))
            room = max(1, int((ranker.document_length - around) * share) - 2)
            if isinstance(ranker, NeuralRanker):
                text = next(ranker.pieces.windows(text, room))
            else:
                ends = [span[1] for span in ranker.document_tokens(query, text).spans[:room] if span]
                text = text[: ends[-1]] if ends else text
        return text


def _unpadded(cut: Slotted, plain: Slotted) -> Slotted:
    """The cut segments with the contents as they were before fillers were added."""
    kept = len(cut.baseline)
    return Slotted(cut.segments, plain.baseline[:kept], plain.perturbed[:kept])
