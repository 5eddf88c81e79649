"""The command lines whose results are frozen: as they were at 26408b1, and as they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.edits.dialed import cross_encoder, idf_file
from tests.edits.dialed import write_collection as write_small_collection
from tests.learning.small import checkpoint, write_collection
from tests.learning.tiny_training import still_backbone

FOLDER = Path(__file__).parent
INPUTS, FROZEN = FOLDER / "inputs", FOLDER / "frozen"


@dataclass(frozen=True)
class Sizes:
    """What `--quick` means while a study of a paper is frozen: the module of the class then and now, its name, and
    its arguments."""

    was: str
    now: str
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A command line without `-o`, then and now; `prepare` makes its inputs, which are below `inputs`; it
    reads the results of the cases in `reads`."""

    name: str
    was: str
    now: str
    out: str = ""
    reads: tuple[str, ...] = ()
    prepare: Callable[[Path], object] = field(default=lambda inputs: None)
    sizes: Sizes | None = None

    def words(self, line: str) -> list[str]:
        """The command line; it writes to a folder of the case's name, or to `out` in it."""
        return [*line.split(), "-o", str(Path(self.name, self.out))]


def _case(name: str, was: str, *renamed: tuple[str, str], **more: Any) -> Case:
    """`renamed` are flags then and now."""
    now = f" {was} "
    for flag, flag_now in renamed:
        assert f" {flag} " in now, f"{name}: no {flag}"
        now = now.replace(f" {flag} ", f" {flag_now} ")
    return Case(name, was, now.strip(), **more)


def _pairs(axiom: str, documents: int) -> Case:
    was = f"pairs --axiom {axiom} --collection demo --ranker bi-minilm-l3 --ranker ce-minilm-l12 -n {documents}"
    return _case(f"pairs-{axiom.lower()}", was, ("-n", "--documents"), out=f"{axiom.lower()}.jsonl")


def _tiny(inputs: Path) -> None:
    """A random cross-encoder with its IDF, a backbone, and two small collections."""
    if (inputs / "tiny").exists():
        return
    tiny = inputs / "tiny"
    idf_file(cross_encoder(tiny / "dialed"), tiny / "idf.tsv")
    write_small_collection(tiny / "small")
    checkpoint(tiny / "ranker")
    still_backbone(tiny)
    write_collection(tiny / "judged")


CE, L3, L6 = "--ranker ce-minilm-l12", "--ranker bi-minilm-l3", "--ranker bi-minilm-l6"
DEMO = "--collection demo"
TFC1 = "--pairs inputs/tfc1.jsonl"
DIALED = "--ranker inputs/tiny/dialed --idf inputs/tiny/idf.tsv --collection inputs/tiny/small"
TRAINED = (
    "--backbone inputs/tiny/backbone --collection inputs/tiny/judged --folds 3 --seeds 1 --keep first "
    "--set epochs=2 --set batch=6 --set max_length=24"
)
DEPTH, QUERIES, FIRST, DOCUMENTS = ("-k", "--depth"), ("-n", "--queries"), ("-n", "--first"), ("-n", "--documents")

TERM_FREQUENCY = Sizes(
    "whyrank.studies.term_frequency.sizes", "whyrank.papers.term_frequency.sizes", "Sizes",
    {"queries": 8, "ask": 1, "pairs": 6, "others": 2, "blocks": 2, "flow": 2, "counting": 2, "most_k": 3,
     "audit": 4, "max_length": 64, "pool": "candidates"},
)  # fmt: skip
SEMANTIC_CIRCUIT = Sizes(
    "whyrank.studies.semantic_circuit", "whyrank.papers.semantic_circuit.study", "StudySizes",
    {"to_logits": 12, "to_heads": 4, "activation": 2, "counting": 1, "length": 2, "randoms": 1, "max_length": 48,
     "two_tokens": 2, "suppress": 1, "suppress_k": 3, "samples": 3, "queries": 12},
)  # fmt: skip

#: Those of `make test`; the others are slow.
QUICK = (
    "pairs-tfc1", "rank-bm25", "rank-bi", "rank-ce", "eval", "audit-own-pairs", "patch-heads", "idf", "edit-saved",
    "align", "train-bert",
)  # fmt: skip
#: First those whose results others read.
CASES = [
    _pairs("TFC1", 8), _pairs("STMC1", 6), _pairs("TFC2", 1), _pairs("LNC1", 4),
    _case("rank-bm25", f"rank --ranker bm25 {DEMO} -k 10", DEPTH),
    _case("rank-bi", f"rank {L3} {DEMO} -k 10", DEPTH),
    _case("rank-ce", f"rank {CE} {DEMO} -k 6 -n 4", DEPTH, QUERIES),
    _case("rank-passages", f"rank {L3} {DEMO} -k 4 -n 4 --passages max", DEPTH, QUERIES),
    _case("rank-own-run", f"rank {L6} {DEMO} --run inputs/bi.trec -k 5 -n 5", DEPTH, QUERIES),
    _case("eval", "eval inputs/bm25.trec inputs/bi.trec --qrels demo -m nDCG@10 -m P@5 -m AP --seed 3"),
    _case("demo", f"demo {L3}"),
    _case("pairs-all", f"pairs --axiom all {DEMO} {L3} -n 2", DOCUMENTS, out="all.jsonl"),
    _case("pairs-chosen", f"pairs --axiom TFC1:*,STMC1 {DEMO} {L3} -n 4 --term random --filler frequency "
          "--ranks 1-5,11-20 --having term --seed 3", DOCUMENTS, out="chosen.jsonl"),
    _case("audit", f"audit {L3} --ranker bm25 {DEMO} -n 6", DOCUMENTS),
    _case("audit-own-pairs", f"audit {L6} {DEMO} --pairs inputs/tfc1.jsonl --delta 0.01"),
    _case("patch-heads", f"patch {L3} {TFC1}"),
    _case("patch-by-category", f"patch {L3} {TFC1} -n 4 --by category --direction noise --keep adherent", FIRST),
    _case("patch-by-position", f"patch {L3} {TFC1} -n 2 --by position --max-length 40 --skip", FIRST),
    _case("patch-compared", f"patch {L3} --pairs inputs/stmc1.jsonl --compare patch-heads --threshold 0.001",
          ("--threshold", "--min-gap"), reads=("patch-heads",)),
    _case("patch-sites", f"patch {L6} {TFC1} -n 4 --sites 0.9+1.6,L4.mlp,L2.H1.q@inj", FIRST),
    _case("patch-blocks", f"patch {L6} {TFC1} -n 4 --sites blocks", FIRST),
    _case("patch-query", f"patch {L3} {TFC1} -n 3 --side query", FIRST),
    _case("patch-to-logits", f"patch {CE} {TFC1} -n 4 --method path --to logits --max-length 64 --skip", FIRST),
    _case("patch-to-values", f"patch {CE} {TFC1} -n 2 --method path --to L10.H1.v,L10.H4.v --freeze-mlp "
          "--max-length 64 --skip", FIRST),
    _case("patch-attribution", f"patch {L3} {TFC1} -n 4 --method attribution --steps 3 --check 2", FIRST),
    _case("patch-screened", f"patch {L3} {TFC1} -n 4 --screen 6", FIRST),
    *(
        _case(f"patch-{kind}", f"patch {L3} {TFC1} -n 4 --method ablation --ablate {kind} --reference "
              "inputs/stmc1.jsonl", FIRST)
        for kind in ("mean", "resample")
    ),
    _case("patch-zero", f"patch {L3} {TFC1} -n 4 --method ablation", FIRST),
    _case("circuit", f"circuit {CE} {TFC1} --pairs inputs/stmc1.jsonl --pairs inputs/tfc2.jsonl --pairs "
          f"inputs/lnc1.jsonl --to-logits 8 --to-heads 4 --steps 2 --randoms 1 --max-length 64 --skip {DEMO}",
          ("--to-logits", "--pairs-to-logits"), ("--to-heads", "--pairs-to-heads"), ("--steps", "--search-steps"),
          ("--skip", "--skip --select gap")),
    _case("semantic-bm", f"semantic-bm {CE} {DEMO} --heads 0.8,1.7 --depth 6 --max-length 64 --least 8",
          ("--least", "--min-samples")),
    _case("idf", f"idf {L3} {DEMO} --vectors 4"),
    _case("idf-ce", f"idf {CE} {DEMO} --vectors 2"),
    _case("edit-preview", f"edit {L3} --up yellow=5 --down leaves=3 --preview {DEMO} -k 8", DEPTH,
          ("--preview", "--rule paper --preview")),
    _case("edit-experiment", f"edit {CE} --experiment {DEMO} -n 3 --head 10.1 --scales 1,20", QUERIES,
          ("--experiment", "--rule paper --randoms 3 --experiment")),
    _case("edit-saved", f"edit {DIALED} --up cat=5 --rule authors --preview --save edit-saved/saved",
          prepare=_tiny),
    _case("align", f"align {DIALED} --formula plain --preview --save align/saved", prepare=_tiny),
    _case("align-bi", f"align {L3} {DEMO} --preview -k 6 -n 12", DEPTH, QUERIES),
    _case("suppress", f"suppress {L3} {DEMO} --terms inputs/words.txt -n 3 -k 5 --scales 1,20,200 "
          "--threshold 0.001", ("-n", "--documents"), DEPTH,
          ("--threshold 0.001", "--rule paper --min-rise 0.007")),
    _case("finetune", "finetune --ranker inputs/tiny/ranker --collection inputs/tiny/judged --seeds 2 --epochs 2 "
          "--batch 8 -k 8 --max-length 24", DEPTH, prepare=_tiny),
    *(
        _case(f"train-{model}", f"train --model {model} {TRAINED}", ("--keep", "--keep-models"), prepare=_tiny)
        for model in ("bert", "dgre", "drmm")
    ),
    _case("study-term-frequency", f"study term-frequency {L3} {DEMO} --quick", sizes=TERM_FREQUENCY),
    _case("study-semantic-circuit", f"study semantic-circuit {CE} {DEMO} --quick", sizes=SEMANTIC_CIRCUIT),
    _case("study-disentangled", "study disentangled --backbone inputs/tiny/backbone --collection "
          "inputs/tiny/judged --folds 3 --seeds 2 --depth 12 --epochs 1 --batch 8 --max-length 24 --chunks 1 "
          "--positives 1 --audit 2 --pairs 2 --readings 8 --only "
          "table1,table2,table6,figures,opened --models bm25,drmm,bert,dgre",
          ("--audit", "--audit-documents"), ("--pairs", "--patched-pairs"), prepare=_tiny),
]  # fmt: skip
#: What cases leave that others read: the file, its name below `inputs`.
READ_BY_OTHERS = {
    **{f"pairs-{axiom}/{axiom}.jsonl": f"{axiom}.jsonl" for axiom in ("tfc1", "stmc1", "tfc2", "lnc1")},
    "rank-bm25/run.trec": "bm25.trec",
    "rank-bi/run.trec": "bi.trec",
}
