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

#: What a page does not say itself: texts of the user's (`given`), and in `CELLS` the words of tables.
GIVEN = re.compile(r'<span class="given">.*?</span>|<style\b.*?</style>', re.DOTALL)
CELLS = re.compile(r"<td\b.*?</td>", re.DOTALL)
TAGS = re.compile(r"<[^>]*>")


def given(markup: str) -> str:
    """Markup of a user's text, whose words are not the page's."""
    return f'<span class="given">{markup}</span>'


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
        """The terms that a page uses, by name. In a table's cells, which may hold any words, a common word counts
        only where the cell has its title (see `meaning`); a name such as TFC1 counts anywhere."""
        own = GIVEN.sub(" ", markup)
        text, said = _text(own), _text(CELLS.sub(_titles, own))
        found = (one for one in self.terms if one.found.search(text if one.is_name else said))
        return sorted(found, key=lambda one: one.name.casefold())

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
        """What a cell of a table means that is a term, or an axiom's name with its variant."""
        for one in self.terms:
            if one.found.fullmatch(text.partition(":")[0].strip()):
                return f"{one.name}: {one.meaning}"
        return None

    def topic(self, text: str) -> str | None:
        """What a column's title speaks of: the meaning of its first term."""
        return next((f"{one.name}: {one.meaning}" for _, _, one in self._mentions(text)), None)

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


def _text(markup: str) -> str:
    return unescape(TAGS.sub(" ", markup))


def _titles(cell: re.Match[str]) -> str:
    """Of a cell that is a term, the term."""
    found = re.search(r'\btitle="([^":]*):', cell[0])
    return f" {TAGS.sub('', cell[0])} " if found else " "
