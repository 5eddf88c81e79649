"""Words as units, with the vectors of a text file as word2vec and GloVe write them.

A line is a word and its numbers, with spaces between them; word2vec's first line, of two counts, is skipped.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from whyrank.collections.collection import Collection
from whyrank.core.errors import UserError
from whyrank.core.lines import Line, read_lines
from whyrank.learning.models.lexicon import Lexicon, document_texts
from whyrank.learning.models.network import Ingredients
from whyrank.text.tokens import Span
from whyrank.text.words import word_spans, words


class KnownWords(NamedTuple):
    """Words with their vectors [V, d], and the mean length of those of the file."""

    spelled: list[str]
    vectors: Tensor
    length: Tensor


class WordLexicon(Lexicon):
    """The words of a collection that a file has, and all words of the collection's queries.

    A word that the file lacks has a vector made of its letters (see `hashed_vector`), as long as the file's
    vectors are in the mean. The spelling of the words is part of the saved state.
    """

    mean_length: Tensor

    def __init__(self, spelled: Sequence[str], vectors: Tensor, mean_length: Tensor, learned: bool) -> None:
        super().__init__(vectors, learned)
        self.register_buffer("mean_length", mean_length)
        self.rows = {word: row for row, word in enumerate(spelled)}

    @classmethod
    def of(cls, path: str, ingredients: Ingredients, learned: bool) -> WordLexicon:
        """Without a collection, the whole file."""
        if ingredients.untrained:
            return cls([], torch.zeros(1, 1), torch.ones(()), learned)
        known = ingredients.once(f"words {path}", lambda: _known_words(path, ingredients.collection))
        return cls(known.spelled, known.vectors.clone(), known.length.clone(), learned)

    def units(self, text: str) -> Sequence[int | str]:
        return [self.rows.get(word, word) for word in words(text)]

    def spans(self, text: str) -> Sequence[Span]:
        return [(word.start, word.end) for word in word_spans(text)]

    def frequencies(self, collection: Collection) -> tuple[Tensor, int]:
        counts: Counter[int] = Counter()
        documents = 0
        for text in document_texts(collection):
            counts.update({self.rows[word] for word in words(text) if word in self.rows})
            documents += 1
        return torch.tensor([counts[row] for row in range(len(self))], dtype=torch.float64), documents

    def unknown_vectors(self, new: dict[str, int]) -> Tensor:
        if not new:
            return super().unknown_vectors(new)
        unit = torch.stack([hashed_vector(word, self.width) for word in new])
        return unit.to(self.vectors.device) * self.mean_length

    def get_extra_state(self) -> Tensor:
        """The words, one per line, in UTF-8: a tensor, as safetensors takes nothing else."""
        return torch.from_numpy(np.array(bytearray("\n".join(self.rows).encode()), dtype=np.uint8))

    def set_extra_state(self, state: Tensor) -> None:
        spelled = state.cpu().numpy().tobytes().decode().split("\n")
        self.rows = {word: row for row, word in enumerate(spelled)}
        self._read.forget()


def _known_words(path: str, collection: Collection | None) -> KnownWords:
    """The file's words that the collection has, and after them its queries' other words."""
    found = read_vectors(path, None if collection is None else _vocabulary(collection))
    vectors = torch.stack(list(found.values()))
    length = vectors.norm(dim=1).mean()
    asked = [] if collection is None else chain.from_iterable(map(words, collection.queries.values()))
    more = [word for word in dict.fromkeys(asked) if word not in found]
    unknown = [hashed_vector(word, vectors.shape[1])[None] * length for word in more]
    return KnownWords([*found, *more], torch.cat([vectors, *unknown]), length)


def _vocabulary(collection: Collection) -> set[str]:
    """All words of its documents and queries."""
    texts = chain(document_texts(collection), collection.queries.values())
    return {word for text in texts for word in words(text)}


#: For every line that is wrong.
FORMAT = "a line is a word and its numbers, with spaces between them, as many on each line"


def read_vectors(path: Path | str, wanted: Container[str] | None = None) -> dict[str, Tensor]:
    """Lower-cased word -> its vector [d], of all words or the wanted ones, in the file's order.

    Of two lines for one word the first counts: such files begin with what is frequent. Numbers are read, and must
    be finite, where the word is wanted; on the other lines they are only counted.
    """
    lines = iter(read_lines(path))
    first = next(lines, None)
    if first is None:
        raise UserError("no word vector in this file", where=path, todo=FORMAT)
    if not _is_header(first):
        lines = chain([first], lines)
    return _vectors(lines, Path(path), wanted)


def _vectors(lines: Iterable[Line], path: Path, wanted: Container[str] | None) -> dict[str, Tensor]:
    found: dict[str, Tensor] = {}
    size = None
    for line in lines:
        fields = _fields(line)
        size = len(fields) - 1 if size is None else size
        word = _word(line, fields, size).lower()
        if word not in found and (wanted is None or word in wanted):
            found[word] = _numbers(line, fields[-size:])
    if not found:
        whose = "no word vector in this file" if wanted is None else "no word of the collection is in this file"
        raise UserError(whose, where=path, todo=FORMAT)
    return found


def _is_header(line: Line) -> bool:
    fields = _fields(line)
    return len(fields) == 2 and all(field.isdecimal() for field in fields)


def _fields(line: Line) -> list[str]:
    """Some words of these files hold a space of another kind, so only plain ones and tabs divide."""
    return line.text.replace("\t", " ").rstrip(" ").split(" ")


def _word(line: Line, fields: list[str], size: int) -> str:
    """What stands before the numbers; GloVe's largest file has a few `words` with spaces in them."""
    if size < 1 or len(fields) <= size or (len(fields) > size + 1 and _is_number(fields[1])):
        found = f"{len(fields) - 1} number{'s' * (len(fields) != 2)} after the word"
        raise line.wrong(found + (f", not {size} as before" if size > 0 else ""), FORMAT)
    return " ".join(fields[:-size])


def _is_number(field: str) -> bool:
    """In plain digits: Python would read 1_000 and １, too."""
    try:
        float(field)
    except ValueError:
        return False
    return field.isascii() and "_" not in field


def _numbers(line: Line, fields: list[str]) -> Tensor:
    wrong = next((field for field in fields if not _is_number(field) or not math.isfinite(float(field))), None)
    if wrong is not None:
        raise line.wrong(f"'{wrong[:40]}' is not a finite number", FORMAT)
    return torch.tensor([float(field) for field in fields])


def hashed_vector(word: str, size: int) -> Tensor:
    """The unit vector [d] of a word that no file has: a hash of its letters, the same everywhere and always.

    Two such words are about orthogonal, as words that have nothing to do with each other are.
    """
    raw = hashlib.shake_256(word.encode("utf-8", "surrogatepass")).digest(2 * size)
    numbers = np.frombuffer(raw, dtype="<u2").astype(np.float64) / 65535 - 0.5
    return torch.from_numpy(numbers / np.linalg.norm(numbers)).float()
