"""Paper B, 'Pathway to Relevance', on any cross-encoder: the commands in their order, and what the paper found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from whyrank.axioms.api import pairs as make_pairs
from whyrank.circuits.api import circuit as find_circuit
from whyrank.circuits.reading import cross_encoder
from whyrank.circuits.results import Circuit
from whyrank.circuits.semantic_bm.api import semantic_bm
from whyrank.collections.collection import Collection
from whyrank.collections.given import collection_of
from whyrank.core.caller import SILENT, Caller
from whyrank.core.errors import UserError
from whyrank.core.packages import sha256
from whyrank.core.runs import Run
from whyrank.edits.api import idf as idf_direction
from whyrank.edits.api import suppress as suppress_terms
from whyrank.edits.api import two_tokens
from whyrank.encoders.site import short_name
from whyrank.interventions.api import patch
from whyrank.learning.finetuning.api import finetune
from whyrank.papers.rare_words import rare_words
from whyrank.papers.semantic_circuit.findings import findings
from whyrank.papers.semantic_circuit.paper import MATCHING, is_papers_model
from whyrank.papers.semantic_circuit.results import SemanticCircuit, StageRun, stage_results
from whyrank.papers.study import Stage, Study, run_stages, run_study
from whyrank.rankers.cross_encoder import CrossEncoder
from whyrank.rankers.load import load

#: What can be added to the study, since it takes hours on two cores.
EXTRAS = ("finetune",)
AXIOMS = ("TFC1", "STMC1", "TFC2", "LNC1")


@dataclass(frozen=True)
class StudySizes:
    """How much of everything; texts are cut to `max_length` tokens where heads are patched (MS MARCO's passages,
    on which the paper worked, are about as long)."""

    to_logits: int = 500
    to_heads: int = 100
    activation: int = 40
    counting: int = 24
    length: int = 100
    randoms: int = 10
    max_length: int = 128
    two_tokens: int = 60
    suppress: int = 3
    suppress_k: int = 10
    suppress_scales: str = "1,5,20,100,400,1200"
    samples: int = 20
    queries: int | None = None
    epochs: int = 3
    seeds: int = 3
    finetune_k: int = 20

    @classmethod
    def quick(cls) -> StudySizes:
        """About eight minutes on two cores: to see that all is well, not to believe in."""
        return cls(
            to_logits=40, to_heads=6, activation=6, counting=2, length=8, randoms=2, max_length=96, two_tokens=6,
            suppress=2, suppress_k=12, suppress_scales="1,20,1200", samples=5, queries=40, epochs=1, seeds=1,
            finetune_k=10,
        )  # fmt: skip


def study(
    ranker: str = "ce-minilm-l12",
    collection: str = "trec-rag-2024",
    *,
    out: Path,
    terms: Path | None = None,
    extras: tuple[str, ...] = (),
    quick: bool = False,
    sizes: StudySizes | None = None,
    seed: int = 0,
    caller: Caller = SILENT,
) -> SemanticCircuit:
    """'Pathway to Relevance': the circuit, its roles, IDF edits, suppression, SemanticBM; about an hour.

    `terms`: a file of words to suppress, one per line; default: rare words of the collection. `extras`: also
    `finetune` (hours on two cores). `quick`: small sizes; `sizes`: your own.
    """
    sizes = sizes or (StudySizes.quick() if quick else StudySizes())
    check_extras(extras)
    if terms is not None and not terms.is_file():
        raise UserError("no such file", where=terms, todo="one word per line")
    documents = collection_of(collection, caller)
    opened = cross_encoder(load(ranker, collection=documents))
    asked = SemanticCircuitStudy(ranker, collection, opened, documents, sizes, terms, extras, quick, seed)
    found = run_study(asked, out, caller)
    assert isinstance(found, SemanticCircuit)
    return found


@dataclass(frozen=True)
class SemanticCircuitStudy(Study):
    """What was asked, opened."""

    NAME: ClassVar[str] = "semantic-circuit"

    ranker: str
    collection: str
    opened: CrossEncoder
    documents: Collection
    sizes: StudySizes
    terms: Path | None = None
    extras: tuple[str, ...] = ()
    quick: bool = False
    seed: int = 0

    def inputs(self) -> dict[str, Any]:
        return {
            "ranker": [self.opened.name, self.opened.fingerprint()], "collection": self.documents.fingerprint(),
            "sizes": vars(self.sizes), "split": self.documents.split,
            "terms": sha256(self.terms) if self.terms else None, "seed": self.seed,
        }  # fmt: skip

    def results(self, run: Run) -> Iterator[SemanticCircuit]:
        """All stages in order, then the findings."""
        out = run.path
        assert out is not None
        words = self.terms
        if words is None:
            words = rare_words(out / "rare-words.txt", self.documents, self.opened.pieces.tokenizer, self.seed)
        plan = stages(
            self.ranker, self.collection, out, self.sizes, terms=words, extras=self.extras,
            seed=self.seed,
        )  # fmt: skip
        done = tuple(StageRun.of(stage) for stage in run_stages(run, plan))
        rows = findings(stage_results(out, done))
        yield SemanticCircuit(self.opened.name, self.collection, self.quick, tuple(rows), done)


def check_extras(extras: tuple[str, ...]) -> None:
    """Refuses stages that the study does not have."""
    unknown = [name for name in extras if name not in EXTRAS]
    if unknown:
        raise UserError(f"the study has no stage '{unknown[0]}'", todo=f"extras: {', '.join(EXTRAS)}")


def stages(
    ranker: str,
    collection: str,
    out: Path,
    sizes: StudySizes,
    *,
    terms: Path,
    extras: tuple[str, ...] = (),
    seed: int = 0,
) -> list[Stage]:
    """Everything in order."""
    check_extras(extras)
    files = {axiom: out / "pairs" / f"{axiom.lower()}.jsonl" for axiom in AXIOMS}
    each = -(-sizes.to_logits // 2) * 11 // 10  # some may not align once they are cut
    counts = {
        "TFC1": each, "STMC1": each, "TFC2": sizes.counting,
        "LNC1": sizes.length,
    }  # fmt: skip
    shared: dict[str, Any] = {"ranker": ranker, "collection": collection}
    found = [
        Stage(f"pairs-{axiom.lower()}", f"{axiom} pairs", make_pairs, path,
              {"axiom": axiom, "collection": collection, "ranker": ranker, "documents": counts[axiom],
               "seed": seed})
        for axiom, path in files.items()
    ]  # fmt: skip
    circuit = out / "circuit"
    found.append(
        Stage("circuit", "The circuit", find_circuit, circuit, {
            "ranker": ranker, "pairs": list(files.values()), "pairs_to_logits": sizes.to_logits,
            "pairs_to_heads": sizes.to_heads, "randoms": sizes.randoms, "max_length": sizes.max_length,
            "collection": collection, "skip": True, "seed": seed,
        })
    )  # fmt: skip
    for axiom in ("TFC1", "STMC1"):
        run = out / f"activation-{axiom.lower()}"
        found.append(
            Stage(f"activation-{axiom.lower()}", f"Activation patching, {axiom}", patch, run, {
                "ranker": ranker, "pairs": files[axiom], "first": sizes.activation, "skip": True,
                "max_length": sizes.max_length, "seed": seed,
                "compare": out / "activation-tfc1" if axiom == "STMC1" else None,
            })
        )  # fmt: skip
    return [*found, *_edits(shared, out, sizes, terms, seed),
            *_model(shared, out, sizes, circuit, seed),
            *(_finetune(shared, out, sizes, seed) if "finetune" in extras else [])]  # fmt: skip


def _edits(shared: dict[str, Any], out: Path, sizes: StudySizes, terms: Path, seed: int) -> list[Stage]:
    idf, two, suppress = out / "idf", out / "two-tokens", out / "suppress"
    return [
        Stage("idf", "IDF in the embeddings", idf_direction, idf, {**shared}),
        Stage("two-tokens", "IDF edits on two-token documents", two_tokens, two, {
            **shared, "queries": sizes.two_tokens, "head": partial(leading_head, out / "circuit"), "seed": seed,
        }, called="edit --experiment"),
        Stage("suppress", "Suppressing terms", suppress_terms, suppress, {
            **shared, "terms": terms, "documents": sizes.suppress, "depth": sizes.suppress_k,
            "scales": sizes.suppress_scales, "seed": seed,
        }),
    ]  # fmt: skip


def _model(shared: dict[str, Any], out: Path, sizes: StudySizes, circuit: Path, seed: int) -> list[Stage]:
    run, papers = out / "semantic-bm", out / "semantic-bm-paper"
    arguments = {**shared, "depth": sizes.samples, "queries": sizes.queries, "seed": seed}
    found = [
        Stage("semantic-bm", "SemanticBM", semantic_bm, run, {**arguments, "circuit": circuit})
    ]  # fmt: skip
    if is_papers_model(shared["ranker"]):
        found.append(
            Stage("semantic-bm-paper", "SemanticBM with the paper's 13 matching heads",
                  semantic_bm, papers, {**arguments, "heads": ",".join(MATCHING)})
        )  # fmt: skip
    return found


def _finetune(shared: dict[str, Any], out: Path, sizes: StudySizes, seed: int) -> list[Stage]:
    run = out / "finetune"
    arguments = {
        **shared, "epochs": sizes.epochs, "seeds": sizes.seeds, "depth": sizes.finetune_k,
        "max_length": sizes.max_length, "queries": sizes.queries, "seed": seed,
    }  # fmt: skip
    return [Stage("finetune", "IDF-aligned fine-tuning", finetune, run, arguments)]


def leading_head(circuit: Path) -> str | None:
    """The scoring head with the largest effect on the logits, as `10.1`: the one whose attention is shown."""
    head = Circuit.read(circuit).leading_head()
    return None if head is None else short_name(head)
