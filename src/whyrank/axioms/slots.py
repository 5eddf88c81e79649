"""The slots of a pair: where its two texts differ, what stands there before fillers are added, and whether what is
written down about them agrees with the texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from whyrank.axioms.fillers import MASK, plain_filler
from whyrank.core.errors import UserError
from whyrank.text.alignment import Slotted
from whyrank.text.differences import word_differences
from whyrank.text.tokens import Span

SIDES = ("baseline", "perturbed")


def slotted_as_given(baseline: str, perturbed: str) -> Slotted:
    """Two texts with slots where their words differ, nothing added."""
    spans = word_differences(baseline, perturbed)
    return Slotted.of_spans(baseline, perturbed, (spans["baseline"], spans["perturbed"]))


def slotted_with_fillers(baseline: str, perturbed: str, filler: str) -> Slotted:
    """The same with white space outside the slots, and a filler where a side has nothing, so that an inserted word
    stands against one."""
    found = slotted_as_given(baseline, perturbed)
    segments, sides = list(found.segments), [list(found.baseline), list(found.perturbed)]
    for i in range(len(found.baseline)):
        full = next((side[i] for side in sides if side[i].strip()), "")
        before, after = full[: len(full) - len(full.lstrip())], full[len(full.rstrip()) :]
        segments[i] += before
        segments[i + 1] = after + segments[i + 1]
        for side in sides:
            side[i] = side[i].strip() or filler
    return Slotted(tuple(segments), tuple(sides[0]), tuple(sides[1]))


def check_slot(texts: Mapping[str, str], slot: Mapping[str, Sequence[Span]]) -> Slotted:
    """The texts cut at their spans; refused unless the spans fit both, and what is outside them is the same."""
    inside = all(
        0 <= a <= b <= len(texts[side]) and a >= before
        for side in SIDES
        for (a, b), before in zip(slot[side], [0, *(end for _, end in slot[side])], strict=False)
    )
    if len(slot["baseline"]) != len(slot["perturbed"]) or not inside:
        raise UserError(
            "the spans of slot do not fit the texts", todo="as many on both sides, in order, inside the text"
        )
    ours, theirs = (Slotted.at(texts[side], slot[side], *[[""] * len(slot[side])] * 2).segments for side in SIDES)
    if ours != theirs:
        raise UserError(
            "the texts differ outside slot", todo="change both alike, mend slot, or leave slot and contents out"
        )
    return Slotted.of_spans(texts["baseline"], texts["perturbed"], (slot["baseline"], slot["perturbed"]))


def check_contents(
    found: Slotted, contents: Mapping[str, Sequence[str]], *, query: str, filler: str, padded: bool
) -> None:
    """Refuses contents that are not what stands in the texts' slots, fillers after them apart (where a pair may be
    `padded`): of two that contradict each other neither is taken."""
    for side in SIDES:
        written: Sequence[str] = getattr(found, side)
        if len(contents[side]) != len(written):
            raise UserError(
                f"contents has {len(contents[side])} of {len(written)} slots", todo="one for each slot"
            )
        for content, text in zip(contents[side], written, strict=True):
            if not _agree(content, text, _fillers(filler, query) if padded else []):
                raise UserError(
                    f"contents says {_short(content)} where {side} has {_short(text)}",
                    todo="change contents, too, or leave slot and contents out",
                )


def _fillers(filler: str, query: str) -> list[tuple[str, str]]:
    """How a filler may be written, as (in contents, in the text); each ranker has its own mask."""
    if filler != MASK:
        return [(filler, filler)]
    return [(MASK, own) for own in (MASK, "<mask>", plain_filler(query))]


def _agree(content: str, text: str, fillers: Sequence[tuple[str, str]]) -> bool:
    """Whether a text is the content, or the content and fillers."""
    if content == text:
        return True
    for name, own in fillers:
        start = own if content == name else content
        missing = len(text.split()) - len(start.split())
        if text == " ".join([start, *[own] * (missing // max(1, len(own.split())))]).strip():
            return True
    return False


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:37]}...")
