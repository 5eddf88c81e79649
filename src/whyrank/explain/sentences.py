"""An explanation in words: the verdict first, then what is above or below it, then what it does not cover."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from whyrank.evaluation.estimate import percent
from whyrank.pages.numbers import counted, plural
from whyrank.text.words import word_spans

if TYPE_CHECKING:
    from whyrank.explain.explanation import Explanation, Lift, TermEffect, Versus, WhyNot, WordContrast

#: A word that lowers the score is named where it does so by this share of the largest rise.
NAMED = 0.1
#: What is written as 0.00 is not named.
LEAST = 0.005
#: Words of a set that are written out.
MOST_QUOTED = 7
#: About as many standard deviations of U_0 lie between the ends of its natural range.
WIDEST = 4.5


def named(docid: str | None, otherwise: str = "the document") -> str:
    """What a document is called in a sentence; an id that is only a number is said to be a document's."""
    if docid is None:
        return otherwise
    return f"document {docid}" if docid.isdecimal() else docid


def verdict(found: Explanation, most: int = 3) -> list[str]:
    """The question that was asked, answered in a few sentences."""
    cut = list(_cut_off(found))
    if found.why_not is not None:
        return [*_why_not(found, found.why_not), *cut, *_words(found, most)]
    if found.versus is not None:
        return [*_versus(found, found.versus, most), *cut]
    whose = "The score is" if found.docid is None else f"{found.name} scores"
    return [f"{whose} {found.score:.2f}.", *_words(found, most), *cut]


def in_full(found: Explanation, most: int = 3) -> list[str]:
    """The verdict, words that matter together, the heads, and what the explanation does not cover."""
    return [*verdict(found, most), *together(found), *heads(found), *not_covered(found)]


def _words(found: Explanation, most: int) -> Iterator[str]:
    up = [term for term in found.terms if term.effect >= LEAST][:most]
    down = [term for term in reversed(found.terms) if term.effect <= -LEAST][:most]
    if not up and not down:
        yield "No word of the document changes it by 0.005 or more by itself."
    if up:
        yield f"It would fall most without {_listed(up)}."
    if down and down[0].effect < -NAMED * max((term.effect for term in up), default=0):
        yield f"It would rise without {_listed(down)}."
    held = max(found.query_terms, key=lambda term: term.effect, default=None)
    if held is not None and held.effect >= LEAST:
        yield f"Of the query's words, '{held.word}' matters most ({-held.effect:+.2f} without it)."


def _versus(found: Explanation, other: Versus, most: int) -> Iterator[str]:
    first, second = found.name, named(other.docid, "the other document")
    yield f"{first} scores {found.score:.2f}, {second} {other.score:.2f}: {found.score - other.score:.2f} apart."
    towards = [one for one in other.words if one.difference > 0][:most]
    if towards:
        parts = ", ".join(_spoken(one, second) for one in towards)
        yield f"What speaks most for {first}: {parts}."
    if other.swap is not None:
        where = first if other.swap.side == "above" else second
        yield (
            f"They change places without {_quoted(other.swap.words)} in {where} "
            f"({other.swap.above:.2f} against {other.swap.below:.2f})."
        )
    else:
        yield "Words whose removal makes them change places were not found."
    if other.turn is not None:
        turn, also = other.turn, "also " if other.swap else ""
        far = ", farther than words differ" if turn.scale > WIDEST else ""
        yield (
            f"They {also}change places with the dial of '{turn.term}' turned {turn.direction} by "
            f"{turn.scale:.3g}sd{far} ({turn.above:.2f} against {turn.below:.2f})."
        )


def _spoken(one: WordContrast, second: str) -> str:
    """A word and what it does for the difference; said where it does so by lowering the other document."""
    lowers = (one.above or 0.0) <= 0 and (one.below or 0.0) < 0
    return f"'{one.word}' ({one.difference:+.2f}{f', as it lowers {second}' if lowers else ''})"


def _why_not(found: Explanation, why: WhyNot) -> Iterator[str]:
    if not why.among_candidates:
        yield f"{found.name} is not among the candidates: {_lost(why)}, and this ranker never sees it."
    place = f"{found.name} is" if why.among_candidates else "If it did, the document would be"
    place = f"{place} at rank {why.rank} of {why.of} with {found.score:.2f}"
    if why.rank <= why.top:
        first = "the first" if why.top == 1 else f"among the first {why.top}"
        yield f"{place}: {first}{' already' if why.among_candidates else ''}."
        return
    yield f"{place}; the first {f'{why.top} have' if why.top > 1 else 'has'} {why.needed:.2f} or more."
    if why.among_candidates and why.listed_at is not None and why.listed_at != why.rank:
        yield f"The list had it at rank {why.listed_at}."
    if why.missing:
        yield f"It lacks {_quoted(why.missing)} of the query."
    for lift in why.lifts:
        yield _lift(lift)
    if not why.lifts:
        yield f"No change of words was found that lifts it to rank {why.top}."


def _lost(why: WhyNot) -> str:
    """Which stage lost it, and at which rank."""
    stage, kept = why.stage, why.of - 1
    if stage is None:
        return "the stage before lost it"
    if stage.rank is None:
        return f"{stage.stage} does not find it in its {stage.of} documents, as they share no word"
    return f"{stage.stage} puts it at rank {stage.rank} of {stage.of}, and {kept} were kept"


def _lift(lift: Lift) -> str:
    change = "without" if lift.way == "removed" else "with"
    added = "" if lift.way == "removed" else " added at its start"
    return f"It would be at rank {lift.rank} ({lift.score:.2f}) {change} {_quoted(lift.words)}{added}."


def together(found: Explanation) -> Iterator[str]:
    """The words that stand in for each other."""
    for one in found.joint[:2]:
        yield (
            f"Without {_quoted(one.words)} together it would change by {-one.effect:+.2f}, more than one by one "
            f"({-one.single:+.2f}): each partly replaces the others."
        )


def heads(found: Explanation) -> Iterator[str]:
    """The heads that carry the leading word."""
    behind = found.heads
    if behind is None:
        return
    carry = [(one.head, one.share) for one in behind.heads if one.share is not None and one.share > 0]
    strongest = sorted(carry, key=lambda one: -one[1])[:3]
    those = ", ".join(f"{head} ({percent(share)})" for head, share in strongest)
    carried = f"the heads with the largest shares of that are {those}" if those else "no head carries any of that"
    yield f"With fillers for '{behind.word}' the score is {behind.without:.2f}; {carried}."
    groups = [f"the {len(one.heads)} {one.name} {percent(one.share)}" for one in behind.groups]
    if groups:
        yield f"Together, {' and '.join(groups)}."


def _cut_off(found: Explanation) -> Iterator[str]:
    """What the ranker never saw of the query and the document."""
    about = found.coverage
    if about.query_unread:
        asked = len(word_spans(found.query))
        yield f"{found.ranker} reads the first {asked - about.query_unread} of the query's {asked} words."
    if about.read < about.words:
        yield (
            f"{found.ranker} reads the first {about.read} of the document's {about.words} words; the others "
            "have no part in the score."
        )
    if found.truncation is not None and found.truncation.best_score > found.score:
        yield f"Had it read the best passage instead, the score would be {found.truncation.best_score:.2f}."


def not_covered(found: Explanation) -> Iterator[str]:
    """What this explanation is not about, if there is something."""
    about = found.coverage
    if about.tried < about.read:
        yield (
            f"Of {about.read} words, {about.tried} were taken away one by one: those of the sentences without "
            f"which the score changes most ({counted(about.calls, 'text')} scored)."
        )
    if len(found.terms) > 1:
        yield "Each word is taken away by itself: what they add need not sum to the score."
    yield from _account(found)
    if about.query_words:
        were = plural(about.query_words, "was", "were")
        yield f"{counted(about.query_words, 'word')} of the query {were} not taken away."


def _account(found: Explanation) -> Iterator[str]:
    """How far the account by heads follows the score."""
    covered = found.mechanism.covered if found.mechanism is not None else None
    if covered is None:
        return
    if covered.predicted is not None:
        yield f"{covered.model} puts the score at {covered.predicted:.2f}."
    if covered.r_squared is not None:
        yield (
            f"The account by {covered.model} follows {percent(covered.r_squared)} of how the score changes over "
            f"{covered.variants} variants of the texts (r squared); the rest it does not explain."
        )


def _listed(terms: Sequence[TermEffect]) -> str:
    return ", ".join(f"'{term.word}' ({-term.effect:+.2f})" for term in terms)


def _quoted(words: Sequence[str]) -> str:
    """`'a'`, `'a' and 'b'`, `'a', 'b' and 'c'`; of many the first, and how many more."""
    names = [f"'{word}'" for word in words]
    if len(names) > MOST_QUOTED:
        names = [*names[: MOST_QUOTED - 1], f"{len(names) - MOST_QUOTED + 1} more words"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
