"""Which fields of a table, of JSON lines or of search hits hold the id, the title and the text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from whyrank.core.errors import UserError, nearest

#: Names that a field may have, the likeliest first.
IDS = ("_id", "id", "docno", "docid", "doc_id", "documentid", "url")
TITLES = ("title", "name", "headline")
TEXTS = ("text", "body", "content", "contents", "passage", "segment", "description", "abstract", "summary")
QUERY_IDS = ("_id", "id", "qid", "query_id", "query-id", "queryid", "topic_id")
QUERY_TEXTS = ("text", "query", "question", "title", "topic")


@dataclass(frozen=True)
class Fields:
    """Which fields are read; None is guessed by name, and a title may be absent."""

    id: str | None = None
    title: str | None = None
    text: str | None = None

    def __str__(self) -> str:
        """`id from _id, title from title, text from body`"""
        return ", ".join(f"{what} from {field}" for what, field in vars(self).items() if field)

    def given(self) -> list[str]:
        """The fields that are named."""
        return [field for field in (self.id, self.title, self.text) if field is not None]

    def check(self, known: Iterable[str], what: str) -> None:
        """Raises for a field that is named and is not among those there are; `what` begins the message."""
        known = list(known)
        for field in self.given():
            if field not in known:
                raise UserError(f"{what} '{field}'", todo=nearest(field, known))

    def of_documents(self, known: Sequence[str]) -> Fields:
        """These fields, the others guessed by name; None where no name fits."""
        text = self.text or named_as(known, TEXTS)
        title = self.title or named_as(known, TITLES)
        return Fields(self.id or named_as(known, IDS), None if title == text else title, text)


def of_queries(known: Sequence[str]) -> Fields:
    """The fields of queries; where there are but two columns, the text is the one that is not the id."""
    name, text = named_as(known, QUERY_IDS), named_as(known, QUERY_TEXTS)
    others = [column for column in known if column != name]
    return Fields(name, None, text or (others[0] if name and len(others) == 1 else None))


def named_as(known: Iterable[str], names: Sequence[str]) -> str | None:
    """The first of the fields there are that has one of these names, in any case of letters."""
    by_name = {field.lower(): field for field in reversed(list(known))}
    return next((by_name[name] for name in names if name in by_name), None)
