"""Words to suppress where a user brings no list: harmless, rare, and in no query."""

from __future__ import annotations

import random
from pathlib import Path

from tokenizers import Tokenizer

from whyrank.collections.collection import Collection
from whyrank.collections.idf import document_frequencies
from whyrank.core.atomic import write_text
from whyrank.text.vocabulary import whole_words
from whyrank.text.words import words

#: How many words, in how many documents of the collection at least and, as a part of all, at most.
COUNT, LEAST, MOST = 30, 3, 0.01


def rare_words(path: Path, collection: Collection, tokenizer: Tokenizer, seed: int = 0) -> Path:
    """Whole words of the vocabulary that stand in few documents and in no query, drawn with the seed."""
    if path.exists():
        return path
    df, documents = document_frequencies(tokenizer, (text for _, text in collection.documents()))
    asked = {word for query in collection.queries.values() for word in words(query)}
    known = whole_words(tokenizer)
    rare = [
        word
        for number, word in known.items()
        if LEAST <= df[number] <= max(LEAST, MOST * documents) and word not in asked and len(word) > 3
    ]
    drawn = sorted(random.Random(f"{seed} stand-ins").sample(sorted(set(rare)), min(COUNT, len(set(rare)))))
    write_text(path, "# rare words of the collection, in place of a block list\n" + "\n".join(drawn) + "\n")
    return path
