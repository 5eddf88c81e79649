"""IDF of a vocabulary: counted by hand, read from a file, or from word frequencies."""

import math
import sys

import numpy as np
import pytest
import wordfreq
from tokenizers import Tokenizer
from tokenizers.models import Unigram, WordLevel, WordPiece
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import Metaspace, Whitespace

from whyrank.collections.collection import Collection
from whyrank.collections.idf import TokenIdf, document_frequencies, token_idf
from whyrank.core.errors import UserError

VOCABULARY = ["[UNK]", "em", "##bed", "cat", "dog", "the", "##s", "ran", "12", "."]
TEXTS = ["The cat ran.", "cats embed the dog", "em. EM! the em", "the the the"]


@pytest.fixture
def tokenizer():
    """WordPiece: `cats` is cat ##s, `embed` is em ##bed."""
    one = Tokenizer(WordPiece({piece: i for i, piece in enumerate(VOCABULARY)}, unk_token="[UNK]"))
    one.normalizer, one.pre_tokenizer = Lowercase(), Whitespace()
    return one


def at(table, piece):
    return table[VOCABULARY.index(piece)]


def test_documents_are_counted_by_hand(tokenizer):
    df, documents = document_frequencies(tokenizer, TEXTS)
    assert documents == 4
    # a word's token counts where the word stands by itself: not `cat` in cats, not `em` in embed
    assert {piece: int(at(df, piece)) for piece in VOCABULARY if piece != "[UNK]"} == {
        "em": 1, "##bed": 1, "cat": 1, "dog": 1, "the": 4, "##s": 1, "ran": 1, "12": 0, ".": 2
    }  # fmt: skip


def test_both_formulas(tokenizer):
    idf = TokenIdf.counted(tokenizer, TEXTS, "mine")
    assert at(idf.of("bm25"), "the") == pytest.approx(math.log(0.5 / 4.5 + 1))
    assert at(idf.of("bm25"), "cat") == pytest.approx(math.log(3.5 / 1.5 + 1))
    assert at(idf.of("plain"), "the") == 0
    assert at(idf.of("plain"), "cat") == pytest.approx(math.log(4))
    assert np.isnan(at(idf.of("bm25"), "12")) and np.isnan(at(idf.of("plain"), "12"))
    words = [piece for piece, whole in zip(VOCABULARY, idf.whole, strict=True) if whole]
    assert words == ["em", "cat", "dog", "the", "ran"]
    with pytest.raises(UserError, match="choose bm25 or plain"):
        idf.of("magic")


def test_where_beginnings_are_marked_the_marked_piece_is_the_word():
    one = Tokenizer(Unigram([("<unk>", 0.0), ("▁the", -1.0), ("▁house", -1.0), ("s", -2.0), ("house", -3.0)], 0))
    one.pre_tokenizer = Metaspace()
    df, documents = document_frequencies(one, ["the house", "the houses", "house house"])
    idf = TokenIdf.counted(one, ["the house"], "one")
    assert documents == 3 and df.tolist()[1:] == [2, 2, 1, 0]
    assert idf.whole.tolist() == [False, True, True, False, False]


def test_a_vocabulary_may_have_holes():
    one = Tokenizer(WordLevel({"[UNK]": 0, "cat": 3, "dog": 9}, unk_token="[UNK]"))
    one.pre_tokenizer = Whitespace()
    df, _ = document_frequencies(one, ["cat dog", "dog"])
    assert len(df) == 10 and (df[3], df[9]) == (1, 2)
    assert TokenIdf.counted(one, ["cat dog"], "x").whole.nonzero()[0].tolist() == [3, 9]


def test_a_file_gives_the_words_that_are_tokens(tokenizer, tmp_path):
    path = tmp_path / "idf.tsv"
    path.write_text("cat\t2.5\nDOG\t3\nzebra\t9\nembed\t4\n\n")
    idf = token_idf(tokenizer, str(path))
    assert {VOCABULARY[i]: v for i, v in enumerate(idf.bm25) if np.isfinite(v)} == {"cat": 2.5, "dog": 3.0}
    assert idf.of("plain") is idf.of("bm25") and idf.source == str(path)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("cat\t2\ndog\tmuch\n", ":2: the IDF 'much' is not a finite number"),
        ("cat\tinf\n", ":1: the IDF 'inf' is not a finite number"),
        ("zebra\t1\n", "no word of this file is a token"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_where_it_breaks(tokenizer, tmp_path, content, complaint):
    path = tmp_path / "idf.tsv"
    path.write_text(content)
    with pytest.raises(UserError) as error:
        token_idf(tokenizer, str(path))
    assert complaint in str(error.value)


def test_word_frequencies(tokenizer, monkeypatch):
    idf = token_idf(tokenizer, "wordfreq")
    assert at(idf.bm25, "cat") == pytest.approx(-math.log(wordfreq.word_frequency("cat", "en")))
    assert at(idf.bm25, "the") < at(idf.bm25, "cat") and np.isnan(at(idf.bm25, "##s"))
    monkeypatch.setitem(sys.modules, "wordfreq", None)
    with pytest.raises(UserError, match=r"pip install 'whyrank\[wordfreq\]'"):
        token_idf(tokenizer, "wordfreq")


def test_a_source_is_named_or_refused(tokenizer):
    collection = Collection.from_records("mine", {"d1": "the cat", "d2": "the dog"}, {"q": "cat"})
    idf = token_idf(tokenizer, "collection", collection)
    assert idf.source == "mine" and at(idf.plain, "cat") == pytest.approx(math.log(2))
    with pytest.raises(UserError, match="give a collection, or wordfreq"):
        token_idf(tokenizer, "collection", None)
    with pytest.raises(UserError, match="no IDF 'colection'; give collection, wordfreq, or a file"):
        token_idf(tokenizer, "colection", collection)
    with pytest.raises(UserError, match="no document to count words in"):
        token_idf(tokenizer, "collection", Collection.from_records("empty", {}, {"q": "cat"}))
