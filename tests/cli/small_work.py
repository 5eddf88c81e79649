"""What most commands can be run on in a second: a tiny ranker, an IDF for it, a small collection, and pairs."""

from pathlib import Path

from tests.edits.dialed import cross_encoder, idf_file, write_collection
from whyrank.axioms.pair import MinimalPair, write_pairs


def write_small_work(folder: Path) -> Path:
    """`ranker`, `idf.tsv`, `collection` and `pairs.jsonl` in a folder."""
    idf_file(cross_encoder(folder / "ranker"), folder / "idf.tsv")
    write_collection(folder / "collection")
    texts = [("the cat sat", "the dog sat"), ("red tree", "blue tree"), ("slow house", "fast house")]
    write_pairs(folder / "pairs.jsonl", [MinimalPair(f"p{i}", "red cat", *two) for i, two in enumerate(texts)])
    return folder
