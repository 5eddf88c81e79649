"""Input of an attacker: ids that are paths, texts that are markup or formulas, a ranker with such tokens."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import WhitespaceSplit
from tokenizers.processors import TemplateProcessing

from tests.checkpoints import SPECIAL, WORDS
from tests.tiny import SHAPE, shaken
from whyrank.axioms.pair import MinimalPair, write_pairs

#: Markup that ends what it stands in and would run, without blanks, so that each is an id, a word and a token.
MARKUP = (
    "<script>alert(1)</script>", "</style><script>alert(2)</script>", "]]><script>alert(3)</script>",
    "javascript:alert(4)", '"onload="alert(5)', "'onload='alert(6)", "<img/src=x/onerror=alert(7)>",
    "</svg></td></pre><script>alert(8)</script>", "--><script>alert(9)</script>", "<!--", "&lt;b&gt;",
    "$\\frac{1$",
)  # fmt: skip
#: What a spreadsheet would run or reckon.
FORMULAS = ("=cmd|'/c'!a1", "+cmd", "-cmd", "@sum(a1)")
#: What would be another place if it were a part of a path.
PATHS = ("../../x", "../../../../../x", "..", ".", "/absolute/x", "..\\..\\x", "~", "a/b", "-rf")
#: A name of a folder that is markup; it can hold no slash.
NAME = "\"><img src=x onerror='alert(10)'>"
TOPICS = [word for word in WORDS if word not in ("the", "a", "on", "in", "how", "many")]
LONGEST = 48


def ids(count: int, mark: str) -> list[str]:
    """So many distinct ids, the hostile ones first."""
    bad = [*PATHS, *MARKUP, *FORMULAS]
    return [bad[i] if i < len(bad) else f"{bad[i % len(bad)]}{mark}{i}" for i in range(count)]


def ranker(folder: Path) -> Path:
    """A tiny cross-encoder, each hostile word a token of its own."""
    words = [*SPECIAL, *WORDS, *(word.lower() for word in (*MARKUP, *FORMULAS, *PATHS))]
    known = {word: number for number, word in enumerate(words)}
    one = Tokenizer(WordLevel(known, unk_token="[UNK]"))
    one.normalizer, one.pre_tokenizer = Lowercase(), WhitespaceSplit()
    one.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", known["[CLS]"]), ("[SEP]", known["[SEP]"])],
    )  # fmt: skip
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=one, unk_token="[UNK]", mask_token="[MASK]", pad_token="[PAD]", cls_token="[CLS]",
        sep_token="[SEP]", model_max_length=LONGEST,
    ).save_pretrained(folder)  # fmt: skip
    config: dict[str, Any] = {
        **SHAPE, "vocab_size": len(known), "max_position_embeddings": LONGEST, "num_hidden_layers": 2,
        "num_labels": 1,
    }  # fmt: skip
    model = shaken(transformers.BertForSequenceClassification(transformers.BertConfig(**config)).eval())
    with torch.no_grad():  # its first singular vector is how rare a word is, so that its dial has a sign
        model.bert.embeddings.word_embeddings.weight[:, 0] = torch.tensor([_rarity(word) for word in known])
    model.save_pretrained(folder)
    return folder


def _rarity(token: str) -> float:
    """The IDF of a token in the hostile collection."""
    held = [token in text.lower().split() for text in texts()[0].values()]
    return math.log(len(held) / (0.5 + sum(held)))


def texts() -> tuple[dict[str, str], dict[str, str], dict[str, dict[str, int]]]:
    """Documents, queries and judgements: four documents a topic, each with something hostile in it."""
    bad = [*MARKUP, *FORMULAS]
    docnos, qids = ids(4 * len(TOPICS), "d"), ids(len(TOPICS), "q")
    documents, queries, qrels = {}, {}, {}
    for i, topic in enumerate(TOPICS):
        queries[qids[i]] = f"how many {topic} {TOPICS[(i + 5) % len(TOPICS)]} {bad[i]}"
        own = docnos[4 * i : 4 * i + 4]
        for j, docno in enumerate(own):
            other = TOPICS[(i + 2 * j + 3) % len(TOPICS)]
            start, end = bad[(i + j) % len(bad)], bad[(i + j + 5) % len(bad)]
            documents[docno] = f"{start} {topic} {TOPICS[(i + j + 1) % len(TOPICS)]} the {other}. A {end} {topic}."
        qrels[qids[i]] = dict(zip(own, (2, 1, 0), strict=False))
    return documents, queries, qrels


def collection(folder: Path) -> Path:
    """A BEIR folder of them."""
    documents, queries, qrels = texts()
    (folder / "qrels").mkdir(parents=True)
    for name, rows in (("corpus", documents), ("queries", queries)):
        lines = [json.dumps({"_id": key, "text": text}) for key, text in rows.items()]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    rows = [f"{qid}\t{docno}\t{grade}" for qid, grades in qrels.items() for docno, grade in grades.items()]
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "\n".join(rows) + "\n")
    return folder


def pairs(path: Path, axiom: str | None = None, count: int = 24) -> Path:
    """A user's own pairs of one length, all their names hostile; each axiom of its own unless one is given."""
    bad, axioms = [*MARKUP, *FORMULAS, *PATHS], (PATHS[1], MARKUP[1], FORMULAS[0], "..")
    names = [f"{name}{axiom or ''}" for name in ids(count, "p")]

    def pair(i: int) -> MinimalPair:
        topic, word = TOPICS[i % len(TOPICS)], bad[i % len(bad)]
        words = (TOPICS[(i + 3 + i % 2) % len(TOPICS)], topic)
        texts = [f"{word} the {one} sat on {bad[(i + 1) % len(bad)]}" for one in words]
        named = axiom or axioms[i // 6 % len(axioms)]
        return MinimalPair(names[i], f"how many {topic} {word}", *texts, axiom=named, variant=word,
                           qid=names[i % 12], docid=names[-i], term=topic)  # fmt: skip

    write_pairs(path, map(pair, range(count)))
    return path
