"""Where one head looks on one pair: its attention pattern, with the tokens."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from whyrank.circuits.head import Head, parse_heads
from whyrank.collections.collection import Collection
from whyrank.collections.opening import collection_of
from whyrank.core.caller import SILENT, Caller
from whyrank.core.errors import UserError
from whyrank.core.results import Result
from whyrank.core.runs import Run
from whyrank.evaluation.estimate import percent
from whyrank.explain.material import asked
from whyrank.rankers.neural import NeuralRanker, no_gradients
from whyrank.rankers.opening import Given, neural_ranker

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from whyrank.core.runs import Manifest

#: Tokens on an axis of the figure, at most: those that give or get the most attention to and from words.
MOST_TOKENS = 36


@dataclass(frozen=True)
class Token:
    """A token as the encoder reads it; `role` is special, query, prefix or document."""

    text: str
    role: str


@dataclass(frozen=True, repr=False)
class Attention(Result):
    """The attention of one head: row i says how much token i reads of each token; a row sums to 1."""

    FILE: ClassVar[str] = "attention.json"
    COMMAND: ClassVar[str] = "attention"

    ranker: str
    head: str
    side: str
    query: str
    docid: str | None
    document: str
    #: Tokens that did not fit and were not read.
    cut: int
    tokens: tuple[Token, ...]
    pattern: tuple[tuple[float, ...], ...]

    def verdict(self) -> list[str]:
        """What the head reads from which part of the sequence, and its strongest link between two words."""
        kinds = ("special tokens", "the query", "the document")
        shares = {kind: self._share(kind) for kind in kinds}
        parts = ", ".join(f"{percent(share)} is on {kind}" for kind, share in shares.items() if share)
        said = [f"{self.head}: of the attention of words {parts}."]
        best = max(self._links(), key=lambda link: link[2], default=None)
        if best is not None:
            i, j, weight = best
            reader, read = (f"'{self.tokens[k].text}' ({self.tokens[k].role})" for k in (i, j))
            said.append(f"Its strongest link: {reader} reads {percent(weight)} from {read}.")
        return said

    def to_pandas(self) -> pd.DataFrame:
        """One row per pair of tokens: from, to, their texts, the weight."""
        import pandas as pd

        rows = [
            (i, j, self.tokens[i].text, self.tokens[j].text, weight)
            for i, row in enumerate(self.pattern)
            for j, weight in enumerate(row)
        ]
        return pd.DataFrame(rows, columns=["from", "to", "from_token", "to_token", "weight"])

    def strongest(self, most: int) -> list[tuple[str, str, float]]:
        """The strongest links between words: who reads, from whom, how much."""
        found = sorted(self._links(), key=lambda link: -link[2])[:most]
        return [(self.tokens[i].text, self.tokens[j].text, weight) for i, j, weight in found]

    def plot(self, axes: Axes | None = None) -> Axes:
        """The pattern as a map: rows read columns; of a long sequence the tokens with the strongest links."""
        from whyrank.plots.heat_map import draw_heat_map
        from whyrank.plots.style import new_axes

        rows, columns = self._shown()
        cells = {(y, x): self.pattern[i][j] for y, i in enumerate(rows) for x, j in enumerate(columns)}
        axes = axes if axes is not None else new_axes(6.2, 1.6 + 0.2 * len(rows))
        return draw_heat_map(
            axes, cells, [self.tokens[i].text for i in rows], [self.tokens[j].text for j in columns],
            row_title="reads", column_title="from", value_title="attention", one_way=True,
        )  # fmt: skip

    def write_report(self, path: Path, manifest: Manifest) -> Path:
        from whyrank.explain.attention_report import attention_page

        return attention_page(self).write(path, manifest)

    def _words(self) -> list[int]:
        return [i for i, token in enumerate(self.tokens) if token.role != "special"]

    def _share(self, kind: str) -> float:
        """Of what words read, the share that is from this part."""
        role = kind.removeprefix("the ").removesuffix(" tokens")
        to = [j for j, token in enumerate(self.tokens) if token.role == role]
        words = self._words()
        return sum(self.pattern[i][j] for i in words for j in to) / max(1, len(words))

    def _links(self) -> list[tuple[int, int, float]]:
        """The attention between words."""
        words = self._words()
        return [(i, j, self.pattern[i][j]) for i in words for j in words]

    def _shown(self) -> tuple[list[int], list[int]]:
        """The tokens of both axes: all, or the query's words against the tokens that they read most."""
        every = list(range(len(self.tokens)))
        if len(every) <= MOST_TOKENS:
            return every, every
        asking = [i for i in self._words() if self.tokens[i].role == "query"] or self._words()
        rows = sorted(sorted(asking, key=lambda i: -max(self.pattern[i]))[:MOST_TOKENS])
        weight = {j: sum(self.pattern[i][j] for i in rows) for j in every}
        return rows, sorted(sorted(every, key=lambda j: -weight[j])[:MOST_TOKENS])


def attention(
    ranker: Given,
    head: str | Head,
    query: str,
    document: str | Path,
    *,
    collection: str | Collection | None = None,
    side: str = "document",
    max_length: int | None = None,
    device: str = "cpu",
    out: Path | str | None = None,
    caller: Caller = SILENT,
) -> Attention:
    """Where a head (`10.1`) looks on one pair; `document` is a text, a file, or an id of the `collection`.

    `side`: of a ranker that encodes query and document apart, the one whose encoder is opened.
    """
    model = neural_ranker(ranker, max_length, device, caller)
    model.check_side(side)
    found = parse_heads(str(head), model.encoder)
    if len(found) != 1:
        raise UserError(f"{len(found)} heads", todo="give one, such as 10.1")
    opened = None if collection is None else collection_of(collection, caller)
    material = asked(query, collection=opened, caller=caller)
    chosen = material.sources.document(document)
    inputs = {
        "ranker": model.fingerprint(), "head": str(found[0]), "query": material.query, "document": chosen.text,
        "docid": chosen.docid, "side": side,
    }  # fmt: skip
    with Run.open(out, Attention.COMMAND, inputs, caller) as place:
        result = place.finished(Attention)
        if result is None:
            result = _read(model, found[0], material.query, chosen.text, chosen.docid, side)
            place.save(result)
        return result


def _read(model: NeuralRanker, head: Head, query: str, document: str, docid: str | None, side: str) -> Attention:
    pair = (query, document)
    with no_gradients():
        inputs = model.opened_inputs([pair], side)
        site = head.site("pattern")
        pattern = model.encoder.run(inputs, read=[site], stop=head.layer + 1).values[site][0]
    whole = model.opened_tokens(query, pair[side == "document"], side)
    ids, name = inputs.ids[0].tolist(), model.pieces.tokenizer.id_to_token
    roles = [*whole.roles[: len(ids)], *["special"] * (len(ids) - len(whole.roles))]
    if len(whole) > len(ids):
        roles[-1] = "special"  # where the text was cut, the sequence ends as an uncut one does
    if side == "query" and "query" not in roles:
        roles = ["query" if role == "document" else role for role in roles]
    return Attention(
        ranker=model.name, head=str(head), side=side, query=query, docid=docid, document=document,
        cut=max(0, len(whole) - len(ids)),
        tokens=tuple(Token(str(name(one)), role) for one, role in zip(ids, roles, strict=True)),
        pattern=tuple(tuple(row) for row in pattern.tolist()),
    )  # fmt: skip
