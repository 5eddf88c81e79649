"""Two texts that differ in some slots, made token-aligned for one tokenizer and cut to one length.

A text with slots is shared segments s_0 .. s_n with n contents between them; baseline and perturbed share the
segments and differ in contents. Aligned means: as many tokens on both sides, every shared token at the same
index. Fillers make up for contents of fewer tokens. Text that does not fit is cut from the
shared segments, before anything else is done, so that no part of the change is ever cut off.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from whyrank.text.tokens import Span, Tokens

#: Tokens that the end of a text may gain or lose when what follows it is cut off.
SURELY = 8
#: A document's tokens as a ranker's encoder sees them, uncut.
Tokenize = Callable[[str], Tokens]


class CannotAlign(Exception):
    """Why a pair cannot be aligned, in a few words, the same for all pairs of that kind."""


class Misaligned(CannotAlign):
    """The two sides do not stand token by token against each other."""


class SidesDiffer(Misaligned):
    """The two sides have so many tokens, and not as many."""

    def __init__(self, baseline: int, perturbed: int) -> None:
        super().__init__("the sides differ in token length")
        self.baseline, self.perturbed = baseline, perturbed


@dataclass(frozen=True)
class Slotted:
    """Shared segments and, between them, the contents of both sides."""

    segments: tuple[str, ...]
    baseline: tuple[str, ...]
    perturbed: tuple[str, ...]

    def __post_init__(self) -> None:
        assert len(self.segments) == len(self.baseline) + 1 == len(self.perturbed) + 1

    @classmethod
    def of_spans(cls, baseline: str, perturbed: str, spans: tuple[Sequence[Span], Sequence[Span]]) -> Slotted:
        """From two texts and the spans of their slots; refused when they differ anywhere else."""
        ours, theirs = _cut_out(baseline, spans[0]), _cut_out(perturbed, spans[1])
        if ours[0] != theirs[0]:
            raise CannotAlign("the texts differ outside the change")
        return cls(ours[0], ours[1], theirs[1])

    @classmethod
    def at(cls, text: str, places: Sequence[Span], baseline: Sequence[str], perturbed: Sequence[str]) -> Slotted:
        """A text with its spans at `places` exchanged for the contents of either side."""
        return cls(_cut_out(text, places)[0], tuple(baseline), tuple(perturbed))

    def merged(self) -> Slotted:
        """The same texts with one slot, from where the first begins to where the last ends."""
        last = len(self.segments) - 1
        between = [
            "".join(
                part for i in range(last) for part in (contents[i], self.segments[i + 1] if i < last - 1 else "")
            )
            for contents in (self.baseline, self.perturbed)
        ]
        return self if last < 2 else Slotted((self.segments[0], self.segments[-1]), (between[0],), (between[1],))

    def text(self, side: str) -> str:
        return self._joined(side)[0]

    def spans(self, side: str) -> list[Span]:
        """Where the contents stand in the text of one side."""
        return self._joined(side)[1]

    def _joined(self, side: str) -> tuple[str, list[Span]]:
        text, spans = self.segments[0], []
        for content, segment in zip(getattr(self, side), self.segments[1:], strict=True):
            spans.append((len(text), len(text) + len(content)))
            text += content + segment
        return text, spans


def align(slotted: Slotted, filler: str, tokenize: Tokenize, max_length: int) -> Slotted:
    """The same pair, padded with fillers and cut for this tokenizer; checked; or CannotAlign."""
    padded = _pad(slotted, filler, tokenize)
    over = len(tokenize(padded.text("baseline"))) - max_length
    if over > 0:
        padded = _pad(cut(slotted, over, tokenize, padded), filler, tokenize)
    check_aligned(padded, tokenize, max_length)
    return padded


def fit(slotted: Slotted, tokenize: Tokenize, max_length: int) -> Slotted:
    """The same pair cut so that both sides fit, with no attempt to align them."""
    over = max(len(tokenize(slotted.text(side))) for side in ("baseline", "perturbed")) - max_length
    fitted = cut(slotted, over, tokenize, slotted) if over > 0 else slotted
    if any(len(tokenize(fitted.text(side))) > max_length for side in ("baseline", "perturbed")):
        raise CannotAlign("longer than the model reads")
    return fitted


def check_aligned(pair: Slotted, tokenize: Tokenize, max_length: int) -> None:
    """Raises unless both sides have as many tokens, the same outside the slots, and fit."""
    ours, theirs = tokenize(pair.text("baseline")), tokenize(pair.text("perturbed"))
    if len(ours) != len(theirs):
        raise SidesDiffer(len(ours), len(theirs))
    if len(ours) > max_length:
        raise CannotAlign("longer than the model reads")
    slots = ours.within_each(pair.spans("baseline"))
    if slots != theirs.within_each(pair.spans("perturbed")):
        raise Misaligned("the change does not stand at the same tokens")
    changed = {i for mine in slots for i in mine}
    if any(a != b for i, (a, b) in enumerate(zip(ours.ids, theirs.ids, strict=True)) if i not in changed):
        raise Misaligned("a token outside the change differs")


def _pad(slotted: Slotted, filler: str, tokenize: Tokenize) -> Slotted:
    """Every slot to the width of its wider content; all slots to one width where some hold fillers on both sides,
    so that those keep pace with the others."""
    sides = ("baseline", "perturbed")
    counts = {side: _widths(slotted, side, tokenize) for side in sides}
    widths = [max(both) for both in zip(counts["baseline"], counts["perturbed"], strict=True)]
    if any(a == b == filler for a, b in zip(slotted.baseline, slotted.perturbed, strict=True)):
        widths = [max(widths)] * len(widths)
    each = _filler_width(slotted, filler, counts, sides)
    filled = {
        side: tuple(
            _fill(content, count, width, filler, each)
            for content, count, width in zip(getattr(slotted, side), counts[side], widths, strict=True)
        )
        for side in sides
    }
    return replace(slotted, **filled)


def _widths(slotted: Slotted, side: str, tokenize: Tokenize) -> list[int]:
    return [len(inside) for inside in tokenize(slotted.text(side)).within_each(slotted.spans(side))]


def _filler_width(slotted: Slotted, filler: str, counts: dict[str, list[int]], sides: tuple[str, str]) -> int:
    """How many tokens one filler is where it stands; 1 when it stands nowhere yet."""
    found = {n for side in sides for c, n in zip(getattr(slotted, side), counts[side], strict=True) if c == filler}
    if len(found) > 1:
        raise CannotAlign("the filler is not always as many tokens")
    return next(iter(found), 1)


def _fill(content: str, count: int, width: int, filler: str, each: int) -> str:
    missing = width - count
    if not missing:
        return content
    if not each or missing % each:
        raise CannotAlign("the filler cannot make up the difference in tokens")
    return " ".join([content, *[filler] * (missing // each)]).strip()


def cut(slotted: Slotted, tokens: int, tokenize: Tokenize, padded: Slotted) -> Slotted:
    """Without the last `tokens` tokens of shared text (whole words); `padded` is the pair as it overflowed.

    What stands at the very end stays (an appended change); slots in the text that is cut off go with it.
    """
    place = max(i for i, segment in enumerate(slotted.segments) if segment.strip() or i == 0)
    text, spans = padded.text("baseline"), padded.spans("baseline")
    start = spans[place - 1][1] if place else 0
    segment = slotted.segments[place]
    seen = tokenize(text)
    inside = seen.within((start, start + len(segment)))
    if len(inside) <= tokens:
        return _cut_further(slotted, place, tokens, tokenize, padded)
    first = inside[-tokens]
    while first > inside[0] and seen.words[first] is not None and seen.words[first] == seen.words[first - 1]:
        first -= 1
    span = seen.spans[first]
    assert span is not None
    kept = segment[: max(0, span[0] - start)].rstrip()
    appended = place < len(slotted.baseline)
    kept = kept + " " if appended and kept and segment[-1:].isspace() else kept
    return replace(slotted, segments=(*slotted.segments[:place], kept, *slotted.segments[place + 1 :]))


def _cut_further(slotted: Slotted, place: int, tokens: int, tokenize: Tokenize, padded: Slotted) -> Slotted:
    """The whole last segment goes, and the slot before it, if slots are left; of many slots as many as surely
    have to, at once."""
    if place < len(slotted.baseline) or place <= 1:
        raise CannotAlign("the change does not fit into the model's length")
    ends = [span[1] for span in tokenize(padded.text("baseline")).spans if span is not None]
    starts = [start for start, _ in padded.spans("baseline")]
    while place > 2 and len(ends) - bisect_right(ends, starts[place - 2]) < tokens - SURELY:
        place -= 1
    shorter, less = (
        Slotted(one.segments[:place], one.baseline[: place - 1], one.perturbed[: place - 1])
        for one in (slotted, padded)
    )
    gone = len(tokenize(padded.text("baseline"))) - len(tokenize(less.text("baseline")))
    return cut(shorter, tokens - gone, tokenize, less) if tokens > gone else shorter


def _cut_out(text: str, spans: Sequence[Span]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    segments, contents, end = [], [], 0
    for start, stop in spans:
        segments.append(text[end:start])
        contents.append(text[start:stop])
        end = stop
    return (*segments, text[end:]), tuple(contents)
