"""The word pieces of a term, and who else uses them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tokenizers import Tokenizer

from whyrank.core.errors import UserError
from whyrank.edits.results import SharedPiece
from whyrank.text.vocabulary import whole_words
from whyrank.text.words import words

#: A character that means nothing and that no vocabulary has.
NOWHERE = "\U0010fffd"


def pieces_of(tokenizer: Tokenizer, term: str) -> tuple[int, ...]:
    """The term's tokens as they stand inside of a text, each once; refused if one of them is the unknown token.

    In a vocabulary that tells capitals, or words at a text's start, the other spellings of a term are other tokens
    (`other_spellings`), and edits of their own.
    """
    tokenizer.no_truncation()
    tokens = tuple(dict.fromkeys(tokenizer.encode(f" {term}", add_special_tokens=False).ids))
    if not tokens or unknown_token(tokenizer) in tokens:
        raise UserError(f"the term '{term}' is not in the ranker's vocabulary", todo="check its spelling")
    return tokens


def unknown_token(tokenizer: Tokenizer) -> int | None:
    """The token that stands for what the vocabulary has no piece of; none where bytes are pieces."""
    model = tokenizer.model
    if hasattr(model, "unk_token"):
        return None if model.unk_token is None else tokenizer.token_to_id(model.unk_token)
    return model.tokenize(NOWHERE)[0].id  # SentencePiece's model does not say


def other_spellings(tokenizer: Tokenizer, term: str) -> list[str]:
    """Spellings of the term that are other tokens: at a text's start (no blank before it), and with a capital."""
    mine = tokenizer.encode(f" {term}", add_special_tokens=False).ids
    others = {f"{term} at the start of a text": term, term.capitalize(): f" {term.capitalize()}"}
    return [name for name, text in others.items() if tokenizer.encode(text, add_special_tokens=False).ids != mine]


def shared_pieces(
    tokenizer: Tokenizer, terms: Iterable[str], texts: Iterable[str], examples: int = 5
) -> list[SharedPiece]:
    """The pieces of these terms that stand in other words of the texts, or are other words themselves."""
    places = [(term, token) for term in terms for token in pieces_of(tokenizer, term)]
    users = _Users(tokenizer, places)
    for text in texts:
        users.count(text)
    own_word = whole_words(tokenizer)
    found = []
    for term, token in places:
        others, itself = users.words[term, token], own_word.get(token)
        itself = None if itself in _spelled(term) else itself
        if others or itself:
            first = sorted(others, key=lambda word: (-others[word], word))[:examples]
            piece, documents = str(tokenizer.id_to_token(token)), users.documents[term, token]
            found.append(SharedPiece(term, piece, token, itself, len(others), documents, tuple(first)))
    return found


class _Users:
    """For each (term, piece) the other words that have the piece, and in how many texts each, and any, stands."""

    def __init__(self, tokenizer: Tokenizer, places: list[tuple[str, int]]) -> None:
        self.tokenizer = tokenizer
        self.words: dict[tuple[str, int], Counter[str]] = {place: Counter() for place in places}
        self.documents: Counter[tuple[str, int]] = Counter()
        self._own = {term: _spelled(term) for term, _ in places}
        self._with: dict[str, list[tuple[str, int]]] = {}

    def count(self, text: str) -> None:
        held = set()
        for word in set(words(text)):
            for place in self._places(word):
                self.words[place][word] += 1
                held.add(place)
        self.documents.update(held)

    def _places(self, word: str) -> list[tuple[str, int]]:
        """The (term, piece) that this word shares, the term being another word."""
        if word not in self._with:
            tokens = set(self.tokenizer.encode(f" {word}", add_special_tokens=False).ids)
            self._with[word] = [
                (term, token) for term, token in self.words if token in tokens and word not in self._own[term]
            ]
        return self._with[word]


def _spelled(term: str) -> set[str]:
    """How the term itself is written, in the texts and in the vocabulary; each word of several is another word."""
    own = words(term)
    return {term.lower(), *(own if len(own) == 1 else ())}
