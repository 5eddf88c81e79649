"""Paper B, 'Pathway to Relevance', on any cross-encoder: the commands in their order, and what the paper found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from whyrank.axioms.api import pairs
from whyrank.circuits.api import circuit
from whyrank.circuits.known import MATCHING, is_papers_model
from whyrank.circuits.reading import cross_encoder
from whyrank.circuits.results import MATCHING as MATCHING_ROLE
from whyrank.circuits.results import Circuit
from whyrank.circuits.semantic_bm.api import semantic_bm
from whyrank.collections.collection import Collection
from whyrank.collections.opening import collection_of
from whyrank.core.caller import SILENT, Caller
from whyrank.core.errors import UserError
from whyrank.core.packages import sha256
from whyrank.core.runs import Run
from whyrank.edits.api import idf, suppress, two_tokens
from whyrank.encoders.site import short_name
from whyrank.interventions.api import patch
from whyrank.learning.finetuning.api import finetune
from whyrank.papers.rare_words import rare_words
from whyrank.papers.semantic_circuit.findings import findings
from whyrank.papers.semantic_circuit.results import SemanticCircuit, StageRun, stage_results
from whyrank.papers.semantic_circuit.sizes import StudySizes
from whyrank.papers.study import Stage, Study, run_stages, run_study
from whyrank.rankers.cross_encoder import CrossEncoder
from whyrank.rankers.load import load

#: What can be added to the study, since it takes hours on two cores.
EXTRAS = ("finetune",)
AXIOMS = ("TFC1", "STMC1", "TFC2", "LNC1")


def study(
    ranker: str = "ce-minilm-l12",
    collection: str = "trec-rag-2024",
    *,
    out: Path,
    terms: Path | str | None = None,
    extras: tuple[str, ...] = (),
    quick: bool = False,
    sizes: StudySizes | None = None,
    seed: int = 0,
    device: str = "cpu",
    caller: Caller = SILENT,
) -> SemanticCircuit:
    """'Pathway to Relevance': the circuit, its roles, IDF edits, suppression, SemanticBM; about an hour.

    `terms`: a file of words to suppress, one per line; default: rare words of the collection. `extras`: also
    `finetune` (hours on two cores). `quick`: small sizes; `sizes`: your own.
    """
    sizes = sizes or (StudySizes.quick() if quick else StudySizes())
    check_extras(extras)
    listed = None if terms is None else Path(terms)
    if listed is not None and not listed.is_file():
        raise UserError("no such file", where=listed, todo="one word per line")
    documents = collection_of(collection, caller)
    opened = cross_encoder(load(ranker, collection=documents, device=device))
    asked = SemanticCircuitStudy(ranker, collection, opened, documents, sizes, listed, extras, quick, seed, device)
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
    device: str = "cpu"

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
            self.ranker, self.collection, out, self.sizes, terms=words, extras=self.extras, seed=self.seed,
            device=self.device,
        )  # fmt: skip
        done = tuple(StageRun.of(stage) for stage in run_stages(run, plan))
        rows = findings(stage_results(out, done))
        not_run = tuple(reason for stage in plan if (reason := stage.obstacle()) is not None)
        yield SemanticCircuit(self.opened.name, self.collection, self.quick, tuple(rows), done, not_run)


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
    device: str = "cpu",
) -> list[Stage]:
    """Everything in order."""
    check_extras(extras)
    plan = _Plan(ranker, collection, out, sizes, seed, device)
    found = [*plan.pairs(), plan.circuit(), *plan.activation(), *plan.edits(terms), *plan.model()]
    return [*found, plan.finetune()] if "finetune" in extras else found


@dataclass(frozen=True)
class _Plan:
    """The stages, with the arguments that they share."""

    ranker: str
    collection: str
    out: Path
    sizes: StudySizes
    seed: int
    device: str

    @property
    def shared(self) -> dict[str, Any]:
        return {"ranker": self.ranker, "collection": self.collection, **self.placed}

    @property
    def placed(self) -> dict[str, Any]:
        """The device, where it is not each verb's default."""
        return {} if self.device == "cpu" else {"device": self.device}

    def file(self, axiom: str) -> Path:
        return self.out / "pairs" / f"{axiom.lower()}.jsonl"

    def pairs(self) -> Iterator[Stage]:
        each = -(-self.sizes.to_logits // 2) * 11 // 10  # some may not align once they are cut
        counts = {"TFC1": each, "STMC1": each, "TFC2": self.sizes.counting, "LNC1": self.sizes.length}
        for axiom, count in counts.items():
            yield Stage(f"pairs-{axiom.lower()}", f"{axiom} pairs", pairs, self.file(axiom), {
                "axiom": axiom, **self.shared, "documents": count, "seed": self.seed,
            })  # fmt: skip

    def circuit(self) -> Stage:
        return Stage("circuit", "The circuit", circuit, self.out / "circuit", {
            "ranker": self.ranker, "pairs": [self.file(axiom) for axiom in AXIOMS],
            "pairs_to_select": self.sizes.to_select, "pairs_to_logits": self.sizes.to_logits,
            "pairs_to_heads": self.sizes.to_heads, "randoms": self.sizes.randoms,
            "max_length": self.sizes.max_length, "collection": self.collection, "skip": True, "seed": self.seed,
            **self.placed,
        })  # fmt: skip

    def activation(self) -> Iterator[Stage]:
        first = self.out / "activation-tfc1"
        for axiom, compare in (("TFC1", None), ("STMC1", first)):
            name = f"activation-{axiom.lower()}"
            yield Stage(name, f"Activation patching, {axiom}", patch, self.out / name, {
                "ranker": self.ranker, "pairs": self.file(axiom), "first": self.sizes.activation, "skip": True,
                "max_length": self.sizes.max_length, "seed": self.seed, "compare": compare, **self.placed,
            })  # fmt: skip

    def edits(self, terms: Path) -> Iterator[Stage]:
        yield Stage("idf", "IDF in the embeddings", idf, self.out / "idf", self.shared)
        yield Stage("two-tokens", "IDF edits on two-token documents", two_tokens, self.out / "two-tokens", {
            **self.shared, "queries": self.sizes.two_tokens, "head": partial(leading_head, self.out / "circuit"),
            "seed": self.seed,
        }, called="edit --experiment")  # fmt: skip
        yield Stage("suppress", "Suppressing terms", suppress, self.out / "suppress", {
            **self.shared, "terms": terms, "documents": self.sizes.suppress, "depth": self.sizes.suppress_k,
            "scales": self.sizes.suppress_scales, "rule": "paper", "seed": self.seed,
        })  # fmt: skip

    def model(self) -> Iterator[Stage]:
        arguments = {
            **self.shared, "depth": self.sizes.samples, "queries": self.sizes.queries, "seed": self.seed,
        }  # fmt: skip
        yield Stage("semantic-bm", "SemanticBM", semantic_bm, self.out / "semantic-bm", {
            **arguments, "circuit": self.out / "circuit",
        }, unless=partial(without_matching_heads, self.out / "circuit"))  # fmt: skip
        if is_papers_model(self.ranker):
            title = "SemanticBM with the paper's 13 matching heads"
            yield Stage("semantic-bm-paper", title, semantic_bm, self.out / "semantic-bm-paper", {
                **arguments, "heads": ",".join(MATCHING),
            })  # fmt: skip

    def finetune(self) -> Stage:
        return Stage("finetune", "IDF-aligned fine-tuning", finetune, self.out / "finetune", {
            **self.shared, "epochs": self.sizes.epochs, "seeds": self.sizes.seeds, "depth": self.sizes.finetune_k,
            "max_length": self.sizes.max_length, "queries": self.sizes.queries, "seed": self.seed,
        })  # fmt: skip


def without_matching_heads(circuit: Path) -> str | None:
    """Why there is no SemanticBM of this circuit, if there is none."""
    return None if Circuit.read(circuit).roles.get(MATCHING_ROLE) else "the circuit has no matching head"


def leading_head(circuit: Path) -> str | None:
    """The scoring head with the largest effect on the logits, as `10.1`: the one whose attention is shown."""
    head = Circuit.read(circuit).leading_head()
    return None if head is None else short_name(head)
