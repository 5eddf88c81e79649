"""Tiny rankers whose dial is known: the IDF is made from their own first singular vector, by numpy."""

import numpy as np
import transformers

from tests.checkpoints import WORDS, save
from tests.tiny import CONFIGS, shaken
from whyrank.collections.collection import Collection
from whyrank.collections.idf import TokenIdf
from whyrank.edits.dial import Dial
from whyrank.rankers.load import load
from whyrank.text.vocabulary import whole_words

PAIRS = [
    ("how many people live in berlin", "the cat sat on the mat"),
    ("red tree", "many people live in berlin in the house"),
    ("cat", "dog"),
    ("fast dog", "the red cat runs fast"),
]
COLLECTION = Collection.from_records(
    "small",
    {
        "d1": "the cat sat on the red mat", "d2": "many people live in berlin", "d3": "the dog runs fast",
        "d4": "a blue house on the tree", "d5": "the slow cat sat in the house", "d6": "red tree blue tree",
        "d7": "how many people in the house", "d8": "the dog and the cat on the mat", "d9": "berlin runs fast",
    },
    {"q1": "cat mat", "q2": "people berlin", "q3": "fast dog", "q4": "red house", "q5": "blue tree"},
    {"q1": {"d1": 2, "d8": 1}, "q2": {"d2": 2, "d7": 1}, "q3": {"d3": 2}, "q4": {"d4": 1, "d1": 1}},
)  # fmt: skip


def cross_encoder(folder, architecture="bert", labels=1):
    """A random cross-encoder, loaded from the folder it is saved in."""
    config = type(CONFIGS[architecture])(**{**CONFIGS[architecture].to_dict(), "num_labels": labels})
    model = shaken(transformers.AutoModelForSequenceClassification.from_config(config).eval())
    return load(str(save(folder, architecture, model=model)))


def numpy_svd(ranker):
    """U, S, V^T of the ranker's embedding matrix as it is now."""
    return np.linalg.svd(ranker.encoder.word_embeddings.detach().double().numpy(), full_matrices=False)


def made_idf(ranker, sign=1.0):
    """An IDF that goes against the first singular vector, whatever numpy's sign, nearly perfectly."""
    u = sign * numpy_svd(ranker)[0][:, 0]
    words = whole_words(ranker.pieces.tokenizer)
    noise = np.random.default_rng(0).normal(size=len(words)) * 0.05
    values = {token: 5 - 20 * u[token] + noise[i] for i, token in enumerate(words)}
    return TokenIdf._of_words(ranker.pieces.tokenizer, values, "made")


def dialed(ranker, sign=1.0):
    return Dial.by(ranker, made_idf(ranker, sign))


def idf_file(ranker, path):
    """The made IDF as the commands read it."""
    idf, words = made_idf(ranker), whole_words(ranker.pieces.tokenizer)
    path.write_text("".join(f"{word}\t{idf.bm25[token]!r}\n".replace("np.float64(", "").replace(")", "")
                            for token, word in words.items()))  # fmt: skip
    return path


def token(ranker, word):
    assert word in WORDS
    return ranker.pieces.tokenizer.token_to_id(word)


def write_collection(folder, collection=COLLECTION):
    """As a BEIR folder."""
    import json

    folder.mkdir(parents=True)
    lines = [json.dumps({"_id": docno, "text": text}) for docno, text in collection.documents()]
    (folder / "corpus.jsonl").write_text("\n".join(lines) + "\n")
    lines = [json.dumps({"_id": qid, "text": text}) for qid, text in collection.queries.items()]
    (folder / "queries.jsonl").write_text("\n".join(lines) + "\n")
    if not collection.qrels:
        return folder
    (folder / "qrels").mkdir()
    rows = [
        f"{qid}\t{docno}\t{grade}" for qid, grades in collection.qrels.items() for docno, grade in grades.items()
    ]
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "\n".join(rows) + "\n")
    return folder
