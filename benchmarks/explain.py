"""An explanation's speed, and how well it tells which words carry a score; ratios measured in one run.

    python benchmarks/explain.py [--only words,versus,long,peers] [--rounds 3] [--threads N]

words    all words of a 300-word document: whyrank's search for words, all it needs included, against
         sentence-transformers' CrossEncoder.predict on the very texts that it scored, in turn. The rows that go
         through the encoder are counted: one for each distinct text.
versus   A above B, two such documents, against the explanation of A alone.
long     a document of 5,000 words: seconds.
peers    Captum's LayerIntegratedGradients and SHAP's text explainer (installed into a temporary folder) beside
         whyrank on the same pairs: seconds, and the deletion curve, the mean of what the score loses without the
         strongest 1, 2, ... 5 words, all their places.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

import whyrank
from whyrank.collections.demo import open_demo
from whyrank.evaluation.estimate import Comparison, Estimate
from whyrank.explain.parts import places_of
from whyrank.explain.removal import Deletion, Replacement, removal
from whyrank.explain.scored import ScoredTexts
from whyrank.explain.words import WordSearch
from whyrank.rankers.ranker import Pair, Ranker
from whyrank.text.words import word_spans

RANKER = "ce-minilm-l12"
#: As many scored texts as all words of 300 need.
ENOUGH = 700
#: The deletion curve's length.
STRONGEST = 5
Attribution = Callable[[str, str], dict[str, float]]


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def long_document(words: int, first: int = 0) -> str:
    """So many words of the demo collection's documents, from one of them on, round and round."""
    texts = [document.text for document in open_demo().documents()]
    return " ".join(
        islice((word for text in cycle(texts[first:] + texts[:first]) for word in text.split()), words)
    )


@contextmanager
def counted_rows(ranker: Any) -> Iterator[list[int]]:
    """How many rows go through the encoder."""
    rows, run = [0], ranker.encoder.run

    def counted(inputs: Any, **how: Any) -> Any:
        rows[0] += len(inputs.ids)
        return run(inputs, **how)

    ranker.encoder.run = counted
    try:
        yield rows
    finally:
        ranker.encoder.run = run


def search_words(ranker: Ranker, query: str, document: str) -> tuple[int, list[Pair]]:
    """How many words were taken away one by one, and all that was scored."""
    texts = ScoredTexts(ranker, ENOUGH)
    found = WordSearch(texts, query, document, partial(removal, "replace", ranker, query)).found()
    return found.coverage.tried, list(texts._scores)


def words_case(ranker: Any, query: str, rounds: int) -> bool:
    from sentence_transformers import CrossEncoder

    theirs = CrossEncoder(str(ranker.checkpoint.folder), device="cpu")
    document = long_document(300)
    with counted_rows(ranker) as rows:
        tried, pairs = search_words(ranker, query, document)
    distinct, whole = len(set(pairs)), len(word_spans(document))
    print(f"words: {tried} of {whole} tried, {distinct} distinct texts, {rows[0]} rows through the encoder")
    ratios = []
    for number in range(rounds):
        their_time, expected = timed(lambda: theirs.predict(pairs, batch_size=32, show_progress_bar=False))
        our_time, _ = timed(lambda: search_words(ranker, query, document))
        ratios.append(their_time / our_time)
        rates = f"ours {tried / our_time:.1f} words/s, theirs {tried / their_time:.1f}"
        print(f"round {number + 1}: {rates}, ratio {ratios[-1]:.2f}", flush=True)
    apart = float(np.abs(np.asarray(expected) - ranker.score(pairs)).max())
    median = statistics.median(ratios)
    print(f"words: median ratio {median:.2f} (goal 1.5), scores {apart:.0e} apart (goal 1e-5)", flush=True)
    return median >= 1.5 and rows[0] <= distinct and tried == whole and apart <= 1e-5


def versus_case(ranker: Any, query: str, rounds: int) -> bool:
    above, below = long_document(300), long_document(300, first=40)
    if ranker.score([(query, above)])[0] < ranker.score([(query, below)])[0]:
        above, below = below, above
    ratios = []
    for number in range(rounds):
        alone, one = timed(lambda: whyrank.explain(ranker, query, above))
        both, two = timed(lambda: whyrank.explain(ranker, query, above, versus=below))
        ratios.append(both / alone)
        assert two.versus is not None and two.score == one.score
        print(f"round {number + 1}: {both:.1f} s against {alone:.1f} s, {ratios[-1]:.2f} times", flush=True)
    print(f"versus: {statistics.median(ratios):.2f} times one explanation (goal at most 2.2)", flush=True)
    return statistics.median(ratios) <= 2.2


def long_case(ranker: Any, query: str, rounds: int) -> bool:
    document = long_document(5000)
    seconds, spent = [], []
    for _ in range(rounds):
        start = time.process_time()
        taken, found = timed(lambda: whyrank.explain(ranker, query, document))
        seconds.append(taken)
        spent.append(time.process_time() - start)
    print(
        f"long: 5,000 words in {', '.join(f'{one:.0f}' for one in seconds)} s (goal 60), processor time "
        f"{', '.join(f'{one:.0f}' for one in spent)} s; {found.coverage.calls} texts scored",
        flush=True,
    )
    return statistics.median(seconds) < 60


def explained_pairs(short: int, long: int) -> list[Pair]:
    """Each query of the demo collection with a document that is relevant, one of its own; for the last queries the
    document stands within others, 240 words in all."""
    demo = open_demo()
    texts = {document.docno: document.text for document in demo.documents()}
    pairs = []
    for number, (qid, query) in enumerate(list(demo.queries.items())[: short + long]):
        best = max(demo.qrels[qid], key=lambda docid: demo.qrels[qid][docid])
        if number < short:
            pairs.append((query, texts[best]))
            continue
        around = long_document(240 - len(texts[best].split()), first=number).split()
        half = len(around) // 2
        pairs.append((query, " ".join([*around[:half], texts[best], *around[half:]])))
    return pairs


def whyrank_attribution(ranker: Ranker) -> Attribution:
    def explain(query: str, document: str) -> dict[str, float]:
        found = whyrank.explain(ranker, query, document, budget=ENOUGH)
        return {term.word: term.effect for term in found.terms}

    return explain


def without(ranker: Ranker, query: str, document: str) -> dict[str, Callable[[Sequence[str]], str]]:
    """Ways to take words out: by fillers, by deletion, and by [MASK]."""
    places = places_of(word_spans(document))
    fillers, masks = Replacement(ranker, query, document), Replacement(ranker, query, document)
    masks.filler = "[MASK]"
    ways = {"replaced by a filler": fillers, "deleted": Deletion(query, document), "replaced by [MASK]": masks}
    return {
        name: lambda words, way=way: way.document(sorted(span for word in words for span in places[word]))
        for name, way in ways.items()
    }


def deletion_curves(ranker: Ranker, pair: Pair, shares: dict[str, float]) -> dict[str, list[float]]:
    """What the score loses without the strongest 1, 2, ... 5 words, for each way to take them out."""
    query, document = pair
    strongest = sorted(shares, key=lambda word: -shares[word])[:STRONGEST]
    curves = {}
    for way, take in without(ranker, query, document).items():
        texts = [document, *(take(strongest[: k + 1]) for k in range(STRONGEST))]
        scores = ranker.score([(query, text) for text in texts])
        curves[way] = [float(scores[0] - score) for score in scores[1:]]
    return curves


def install_peers(folder: Path) -> None:
    needs = Path(__file__).parent / "peers" / "explainers.txt"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder, "-r", needs]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    sys.path.append(str(folder))


def attributions(ranker: Any) -> dict[str, Attribution]:
    """The methods, on the same weights; SHAP scores with our own ranker, faster than with what its users have."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    sys.path.insert(0, str(Path(__file__).parent / "peers"))
    from explainers import captum_explainer, shap_explainer

    folder = str(ranker.checkpoint.folder)
    model, tokenizer = (
        AutoModelForSequenceClassification.from_pretrained(folder),
        AutoTokenizer.from_pretrained(folder),
    )
    return {
        "whyrank": whyrank_attribution(ranker),
        "Captum": captum_explainer(model.eval(), tokenizer),
        "SHAP": shap_explainer(ranker.score, tokenizer),
    }


def peers_case(ranker: Any, short: int, long: int) -> bool:
    with tempfile.TemporaryDirectory() as name:
        if importlib.util.find_spec("captum") is None or importlib.util.find_spec("shap") is None:
            install_peers(Path(name))
        methods, pairs = attributions(ranker), explained_pairs(short, long)
        seconds: dict[str, list[float]] = {name: [] for name in methods}
        curves: dict[str, list[dict[str, list[float]]]] = {name: [] for name in methods}
        for number, (query, document) in enumerate(pairs):
            for method, explain in methods.items():
                taken, shares = timed(partial(explain, query, document))
                seconds[method].append(taken)
                curves[method].append(deletion_curves(ranker, (query, document), shares))
            print(f"pair {number + 1} of {len(pairs)}, {len(document.split())} words")
            for method, found in curves.items():
                areas = ", ".join(f"{np.mean(curve):.3f} {way}" for way, curve in found[-1].items())
                print(f"  {method}: {seconds[method][-1]:.1f} s; lost {areas}", flush=True)
    good = []
    for group, chosen in (("short", slice(0, short)), ("long", slice(short, None)), ("all", slice(None))):
        if curves["whyrank"][chosen]:
            good.append(compare(group, chosen, seconds, curves))
    return good[-1]


def compare(
    group: str, chosen: slice, seconds: dict[str, list[float]], curves: dict[str, list[dict[str, list[float]]]]
) -> bool:
    """Prints the seconds and the curves; true where ours are surely above every rival's, however words go."""
    for method in seconds:
        times = [a / b for a, b in zip(seconds[method][chosen], seconds["whyrank"][chosen], strict=True)]
        print(
            f"{group}: {method} {statistics.median(seconds[method][chosen]):.1f} s a pair (median), "
            f"{statistics.median(times):.1f} times whyrank's"
        )
    rows, labels = [], []
    for way in curves["whyrank"][0]:
        area = {name: [float(np.mean(one[way])) for one in found[chosen]] for name, found in curves.items()}
        for method, values in area.items():
            mean = Estimate.mean(values, [str(i) for i in range(len(values))])
            by_k = np.mean([one[way] for one in curves[method][chosen]], axis=0)
            print(f"{group}, {way}: {method} {mean:.2f}; after 1 to {STRONGEST}: {np.round(by_k, 2)}")
            if method != "whyrank":
                labels.append((way, method))
                rows.append([a - b for a, b in zip(area["whyrank"], values, strict=True)])
    found = Comparison.family(rows)
    for (way, method), one in zip(labels, found, strict=True):
        print(f"{group}, {way}: whyrank - {method} {one.text('+.2f')}", flush=True)
    return all(one.difference.is_above_zero for one in found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="words,versus,long,peers", help="cases, with commas")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--short", type=int, default=20, help="pairs of the demo collection")
    parser.add_argument("--long", type=int, default=6, help="pairs with 240 words")
    parser.add_argument("--threads", type=int, help="of torch, for all sides")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    ranker: Any = whyrank.load(RANKER)
    query = next(iter(open_demo().queries.values()))
    cases = {
        "words": lambda: words_case(ranker, query, options.rounds),
        "versus": lambda: versus_case(ranker, query, options.rounds),
        "long": lambda: long_case(ranker, query, options.rounds),
        "peers": lambda: peers_case(ranker, options.short, options.long),
    }
    good = [cases[name]() for name in options.only.split(",")]
    raise SystemExit(not all(good))


if __name__ == "__main__":
    main()
