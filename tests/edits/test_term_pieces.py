"""A term's pieces, and the other words that have them."""

import pytest
from tokenizers import Tokenizer
from tokenizers.models import BPE, Unigram, WordPiece
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import ByteLevel, Metaspace, Whitespace

from whyrank.core.errors import UserError
from whyrank.edits.results import SharedPiece
from whyrank.edits.term_pieces import other_spellings, pieces_of, shared_pieces, unknown_token

VOCABULARY = ["[UNK]", "em", "##bed", "##ding", "cat", "##s", "the", "bed", "##ban", "ban", "##ana"]
TEXTS = ["the embedding", "embed the cats", "cats em", "bed embedding cats", "Embed!", "the the"]


@pytest.fixture
def tokenizer():
    one = Tokenizer(WordPiece({piece: i for i, piece in enumerate(VOCABULARY)}, unk_token="[UNK]"))
    one.normalizer, one.pre_tokenizer = Lowercase(), Whitespace()
    return one


def cased():
    """Pieces for ` cat`, ` Cat` and `cat` at a text's start, as byte-level BPE has them."""
    vocabulary = {piece: i for i, piece in enumerate(["c", "a", "t", "C", "Ġ", "Ġc", "at", "Ġcat", "cat"])}
    one = Tokenizer(BPE(vocabulary, [("Ġ", "c"), ("a", "t"), ("Ġc", "at"), ("c", "at")]))
    one.pre_tokenizer = ByteLevel(add_prefix_space=False)
    return one


def test_pieces_of_a_term_each_once(tokenizer):
    assert pieces_of(tokenizer, "embedding") == (1, 2, 3)
    assert pieces_of(tokenizer, "Cat") == (4,)
    assert pieces_of(tokenizer, "banana") == (9, 10)
    assert pieces_of(tokenizer, "cat cats") == (4, 5)


@pytest.mark.parametrize("term", ["zebra", "cat zebra", "catz", "   "])
def test_a_term_that_is_not_in_the_vocabulary_is_refused(tokenizer, term):
    with pytest.raises(UserError, match="is not in the ranker's vocabulary"):
        pieces_of(tokenizer, term)


def test_the_unknown_token_of_every_kind_of_vocabulary(tokenizer):
    pieces = Tokenizer(Unigram([("a", -1.0), ("<unk>", -2.0), ("▁cat", -3.0)], unk_id=1))
    pieces.pre_tokenizer = Metaspace()
    assert unknown_token(tokenizer) == 0 and unknown_token(pieces) == 1 and unknown_token(cased()) is None
    assert pieces_of(pieces, "cat") == (2,)
    with pytest.raises(UserError):
        pieces_of(pieces, "zebra")


def test_who_shares_a_piece_is_counted_by_hand(tokenizer):
    found = {(one.term, one.piece): one for one in shared_pieces(tokenizer, ["embedding", "cats", "bed"], TEXTS)}
    # `em` is a word of text 3, and in embed of texts 2 and 5; `##bed` in embed only; `##ding` in no other word
    assert found["embedding", "em"] == SharedPiece("embedding", "em", 1, "em", 2, 3, ("embed", "em"))
    assert found["embedding", "##bed"] == SharedPiece("embedding", "##bed", 2, None, 1, 2, ("embed",))
    assert ("embedding", "##ding") not in found
    # `cat` is the word cat, though no text holds it
    assert found["cats", "cat"] == SharedPiece("cats", "cat", 4, "cat", 0, 0, ())
    assert ("cats", "##s") not in found and ("bed", "bed") not in found


def test_a_term_of_several_words_shares_each_of_them(tokenizer):
    found = {
        one.piece: (one.word, one.words, one.documents) for one in shared_pieces(tokenizer, ["the cat"], TEXTS)
    }
    assert found == {"the": ("the", 1, 3), "cat": ("cat", 1, 3)}  # the; cats


def test_spellings_that_are_other_tokens(tokenizer):
    assert other_spellings(tokenizer, "cat") == []
    assert other_spellings(cased(), "cat") == ["cat at the start of a text", "Cat"]
