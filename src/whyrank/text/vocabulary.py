"""Which entries of a tokenizer's vocabulary are words by themselves."""

from __future__ import annotations

from tokenizers import Tokenizer

#: What marks a piece that goes on with a word (WordPiece), and one that begins a word (BPE, SentencePiece).
CONTINUES, BEGINS = "##", ("Ġ", "▁")


def whole_words(tokenizer: Tokenizer) -> dict[int, str]:
    """Token number -> word, lower-cased, for the pieces that stand for a whole word of letters.

    In a vocabulary that marks beginnings, `Ġhouse` is the word and `house` a piece inside of one.
    """
    vocabulary = tokenizer.get_vocab()
    marks_beginnings = any(piece.startswith(BEGINS) for piece in vocabulary)
    found = {number: _word(piece, marks_beginnings) for piece, number in vocabulary.items()}
    return {number: word for number, word in sorted(found.items()) if word}


def _word(piece: str, marks_beginnings: bool) -> str | None:
    if piece.startswith(CONTINUES) or (marks_beginnings and not piece.startswith(BEGINS)):
        return None
    word = piece.lstrip("".join(BEGINS))
    return word.lower() if word.isalpha() else None
