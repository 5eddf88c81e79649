"""Inverse document frequency of a tokenizer's vocabulary: how rare each token is, and by what count.

    bm25:  idf(t) = ln((N - df(t) + 0.5) / (df(t) + 0.5) + 1)
    plain: idf(t) = ln(N / df(t))

A token that stands for a whole word is counted where the word stands by itself (not `em` in
`em ##bed`), any other token wherever it is. A token that no document holds has no IDF.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from tokenizers import Encoding, Tokenizer

from whyrank.collections.gather import finite_number
from whyrank.core.errors import UserError
from whyrank.core.lines import read_lines
from whyrank.text.vocabulary import whole_words

if TYPE_CHECKING:
    import numpy as np

    from whyrank.collections.collection import Collection

FORMULAS = ("bm25", "plain")
#: Texts tokenised at a time.
TEXTS_AT_A_TIME = 256


@dataclass(frozen=True, eq=False)
class TokenIdf:
    """The IDF of each token of a vocabulary by both formulas, NaN where it has none; `whole` marks whole words."""

    source: str
    bm25: np.ndarray
    plain: np.ndarray
    whole: np.ndarray

    def fingerprint(self) -> str:
        """Of the values themselves, wherever they come from."""
        return hashlib.sha256(self.bm25.tobytes() + self.plain.tobytes()).hexdigest()

    def of(self, formula: str) -> np.ndarray:
        if formula not in FORMULAS:
            raise UserError(f"unknown IDF formula '{formula}'", todo=f"choose {' or '.join(FORMULAS)}")
        return self.bm25 if formula == "bm25" else self.plain

    @classmethod
    def counted(cls, tokenizer: Tokenizer, texts: Iterable[str], source: str) -> TokenIdf:
        """From the documents that hold each token."""
        import numpy as np

        df, documents = document_frequencies(tokenizer, texts)
        if not documents:
            raise UserError("no document to count words in", where=source)
        with np.errstate(divide="ignore"):
            bm25 = np.where(df > 0, np.log((documents - df + 0.5) / (df + 0.5) + 1), math.nan)
            plain = np.where(df > 0, np.log(documents / df), math.nan)
        return cls(source, bm25, plain, _whole(tokenizer))

    @classmethod
    def from_file(cls, tokenizer: Tokenizer, path: Path) -> TokenIdf:
        """From lines `word <tab> idf`; words that are not a single token of this vocabulary are skipped."""
        known: dict[str, list[int]] = {}
        for number, spelling in whole_words(tokenizer).items():  # Word and word are two tokens of one word
            known.setdefault(spelling, []).append(number)
        values: dict[int, float] = {}
        for line in read_lines(path):
            word, tab, written = line.text.partition("\t")
            if not tab:
                raise line.wrong("not a word, a tab and a number", "write one word per line: ranker<TAB>7.2")
            value = finite_number(line, written.strip(), "IDF")
            values |= dict.fromkeys(known.get(word.lower(), ()), value)
        if not values:
            raise UserError(
                "no word of this file is a token of the ranker", where=path, todo="word<TAB>idf per line"
            )
        return cls._of_words(tokenizer, values, str(path))

    @classmethod
    def from_word_frequencies(cls, tokenizer: Tokenizer) -> TokenIdf:
        """-ln of each whole word's frequency in English, by the wordfreq package: a stand-in for a
        collection."""
        try:
            from wordfreq import word_frequency
        except ImportError:
            raise UserError(
                "word frequencies need the wordfreq package", todo="pip install 'whyrank[wordfreq]'"
            ) from None
        found = {number: word_frequency(word, "en") for number, word in whole_words(tokenizer).items()}
        return cls._of_words(tokenizer, {n: -math.log(p) for n, p in found.items() if p > 0}, "wordfreq")

    @classmethod
    def _of_words(cls, tokenizer: Tokenizer, values: dict[int, float], source: str) -> TokenIdf:
        import numpy as np

        table = np.full(_size(tokenizer), math.nan)
        table[list(values)] = list(values.values())
        return cls(source, table, table, _whole(tokenizer))


def token_idf(tokenizer: Tokenizer, idf: str = "collection", collection: Collection | None = None) -> TokenIdf:
    """The IDF by its name: counted in the `collection`, by `wordfreq`, or read from a file."""
    if idf == "wordfreq":
        return TokenIdf.from_word_frequencies(tokenizer)
    if idf != "collection":
        if not Path(idf).is_file():
            raise UserError(f"no IDF '{idf}'", todo="give collection, wordfreq, or a file of lines word<TAB>idf")
        return TokenIdf.from_file(tokenizer, Path(idf))
    if collection is None:
        raise UserError("no collection to count words in", todo="give a collection, or wordfreq or a file as idf")
    return TokenIdf.counted(tokenizer, (text for _, text in collection.documents()), collection.name)


def document_frequencies(
    tokenizer: Tokenizer, texts: Iterable[str], *, as_words: bool = True
) -> tuple[np.ndarray, int]:
    """How many texts hold each token, and how many texts there are. `as_words`: a token that is a whole word is
    counted where it is all of a word; without it, wherever it is, also as the beginning of another word."""
    import numpy as np

    whole = _whole(tokenizer) if as_words else np.zeros(_size(tokenizer), dtype=bool)
    df, documents = np.zeros(_size(tokenizer), dtype=np.int64), 0
    tokenizer.no_truncation()
    for some in _chunks(texts):
        for encoding in tokenizer.encode_batch(some, add_special_tokens=False):
            documents += 1
            df[list(_tokens(encoding, whole))] += 1
    return df, documents


def _tokens(encoding: Encoding, whole: np.ndarray) -> set[int]:
    """The tokens of a text, those that are words only where they are all of a word."""
    ids, words = encoding.ids, encoding.word_ids
    last = len(ids) - 1
    return {
        number
        for i, number in enumerate(ids)
        if not whole[number] or ((i == 0 or words[i - 1] != words[i]) and (i == last or words[i + 1] != words[i]))
    }


def _whole(tokenizer: Tokenizer) -> np.ndarray:
    import numpy as np

    mask = np.zeros(_size(tokenizer), dtype=bool)
    mask[list(whole_words(tokenizer))] = True
    return mask


def _size(tokenizer: Tokenizer) -> int:
    """One more than the largest token number: some vocabularies have holes."""
    return 1 + max(tokenizer.get_vocab().values())


def _chunks(texts: Iterable[str]) -> Iterator[list[str]]:
    left = iter(texts)
    while some := list(islice(left, TEXTS_AT_A_TIME)):
        yield some
