"""The glossary of a page: an entry in plain English for each term that the page uses, and links to the entries.

A term is data: its name, its meaning, and how pages write it. Axioms bring their own meaning, so that a new axiom
has an entry with nothing to add here; a report may bring terms of its own (`Report.terms`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape, unescape

from whyrank.axioms.registry import meanings
from whyrank.pages.terms import TERMS, Term

#: What is not text: tags, and what describes a figure to machines.
NO_TEXT = re.compile(r"<(style|metadata)\b.*?</\1>|<[^>]*>", re.DOTALL)


@dataclass(frozen=True)
class Glossary:
    """The known terms; an entry of an earlier term comes first where two fit the same words."""

    terms: tuple[Term, ...]

    @classmethod
    def of(cls, own: Sequence[Term] = ()) -> Glossary:
        """A report's own terms, the axioms, and the terms of the field."""
        axioms = [Term(name, meaning, re.escape(name)) for name, meaning in meanings().items()]
        return cls((*own, *axioms, *TERMS))

    def used(self, markup: str) -> list[Term]:
        """The terms that a page's text uses, by name."""
        text = unescape(NO_TEXT.sub(" ", markup))
        return sorted((one for one in self.terms if one.found.search(text)), key=lambda one: one.name.casefold())

    def linked(self, text: str, seen: set[str]) -> str:
        """A text as markup: the first mention of each term that is not in `seen` leads to its entry."""
        markup, place = "", 0
        for start, end, term in self._mentions(text):
            if start >= place and term.id not in seen:
                seen.add(term.id)
                markup += escape(text[place:start])
                markup += f'<a class="term" href="#{term.id}">{escape(text[start:end])}</a>'
                place = end
        return markup + escape(text[place:])

    def meaning(self, text: str) -> str | None:
        """What a table's cell means that is a term, or an axiom's name with its variant."""
        for one in self.terms:
            if one.found.fullmatch(text.partition(":")[0].strip()):
                return f"{one.name}: {one.meaning}"
        return None

    def entries(self, markup: str) -> str:
        """The glossary's list for a page."""
        found = [
            f'<dt id="{one.id}">{escape(one.name)}</dt><dd>{escape(one.meaning)}</dd>' for one in self.used(markup)
        ]
        return f'<dl class="glossary">{"".join(found)}</dl>' if found else ""

    def _mentions(self, text: str) -> list[tuple[int, int, Term]]:
        """From left to right, the longest first."""
        found = [(*match.span(), one) for one in self.terms for match in one.found.finditer(text)]
        return sorted(found, key=lambda mention: (mention[0], -mention[1]))
