"""Path patching: what a sender does to a receiver directly, every other head held at the target's values.

1. Run the target with every head frozen to what it was, except the sender, which has the source's value; MLPs and
   LayerNorms are recomputed (or MLPs frozen too: `freeze_mlp`).
2. Receiver = logits: read the score. Receivers = q, k, v of some heads: run the target again, nothing frozen, with
   all receivers overwritten by what they were in step 1, and read the score.

With every head frozen nothing moves between positions: rows are independent, so a sender travels by LayerNorms and
MLPs only, and for a read-out of the first row only that row is ever computed. In step 2 the receivers' layer still
reads the target's input, so only the receivers' own attention is made again (none, if only values are received:
z' = P v'). All of it is exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from torch import Tensor
from torch.nn import functional

from whyrank.core.errors import UserError
from whyrank.encoders.encoder import Encoder
from whyrank.encoders.site import Site, SiteSet
from whyrank.interventions.intervention import Intervention, Measured
from whyrank.interventions.opened import OpenedPair
from whyrank.interventions.prepared import PreparedPair
from whyrank.interventions.recording import Recording
from whyrank.interventions.to_logits import heads_to_logits
from whyrank.interventions.wavefront import Value, Wavefront
from whyrank.rankers.neural import no_gradients

#: What can send: a head's output, a sublayer's output, the residual stream at a layer, the embeddings.
SENDERS = ("z", "attn", "mlp", "resid", "embed")
RECEIVERS = ("q", "k", "v")
LOGITS = "logits"


@dataclass(frozen=True)
class PathPatching(Intervention):
    """The intervention: from each sender to the logits (`receivers` None) or to heads' q, k, v together."""

    receivers: SiteSet | None = None
    freeze_mlp: bool = False
    direction: str = "denoise"
    method = "path"

    @classmethod
    def to(cls, text: str, *, freeze_mlp: bool = False, direction: str = "denoise") -> PathPatching:
        """`logits`, or heads' q, k, v with commas or + between them."""
        receivers = None if text.strip() == LOGITS else SiteSet.parse(text.replace(" ", "").replace(",", "+"))
        return cls(receivers, freeze_mlp, direction)

    @property
    def receiver(self) -> str:
        return LOGITS if self.receivers is None else str(self.receivers)

    def inputs(self) -> list[object]:
        return [self.method, self.receiver, self.freeze_mlp, self.direction]

    def check(self, encoder: Encoder, senders: Sequence[SiteSet]) -> None:
        """Raises when a receiver is none, or a sender cannot send, or reaches no receiver."""
        super().check(encoder, senders)
        for site in self.receivers or ():
            site.check(encoder.layers, encoder.heads)
        check_path(senders, self.receivers)

    def reached_from(self, sender: SiteSet) -> bool:
        """Whether any receiver is above the sender."""
        return self.receivers is None or all(_layer(site) < top(self.receivers, site) for site in sender)

    def scores(self, opened: OpenedPair, patches: Sequence[SiteSet]) -> Tensor:
        target, source = opened.runs(self.direction)

        def states(some: Sequence[SiteSet]) -> Tensor:
            return path_states(target, source, some, self.receivers, opened.categories, freeze_mlp=self.freeze_mlp)

        return opened.scores_of(patches, states, self.direction)

    def measure(self, group: Sequence[PreparedPair], patches: Sequence[Sequence[SiteSet]]) -> list[Measured]:
        """Heads to the logits of rankers that read some rows only: all pairs together."""
        senders = patches[0]
        alike = self.receivers is None and all(some == senders for some in patches)
        whole = all(len(one.sites) == 1 and _is_whole_head(one.sites[0]) for one in senders)
        if not (senders and alike and whole) or group[0].ranker.rows is None:
            return super().measure(group, patches)
        sites = [one.sites[0] for one in senders]
        with no_gradients():
            return heads_to_logits(group, sites, noise=self.direction == "noise", freeze_mlp=self.freeze_mlp)


def path_states(
    target: Recording,
    source: Recording,
    senders: Sequence[SiteSet],
    receivers: SiteSet | None = None,
    categories: Mapping[str, Tensor] | None = None,
    *,
    freeze_mlp: bool = False,
) -> Tensor:
    """What the read-out reads, as of `patched_states`, one per sender (or set of senders)."""
    check_path(senders, receivers)
    walk = Frozen(target, lambda _, site: source.value(site), senders, categories or {}, receivers, freeze_mlp)
    if receivers is None:
        return walk.run()
    received = walk.received()
    step_2 = Wavefront(target, lambda number, site: received[site][number], [receivers] * len(senders), {})
    return step_2.run()


class Frozen(Wavefront):
    """Step 1: the walk with every head held at its recorded value, but for the senders."""

    def __init__(
        self,
        target: Recording,
        value: Value,
        senders: Sequence[SiteSet],
        categories: Mapping[str, Tensor],
        receivers: SiteSet | None,
        freeze_mlp: bool,
    ) -> None:
        super().__init__(target, value, senders, categories)
        self.receivers, self.freeze_mlp = receivers, freeze_mlp
        self._received: dict[Site, Tensor] = {}

    def received(self) -> dict[Site, Tensor]:
        """Each receiver's q, k or v [V, S, d_head]."""
        assert self.receivers is not None
        last = max(_layer(site) for site in self.receivers)
        self._receive(last, self.walk(last))
        return self._received

    def rows(self, layer: int) -> list[int] | None:
        """On the way to the logits, the rows that are read, in every layer; heads receive from all rows."""
        return None if self.receivers is not None or self.target.rows is None else list(self.target.rows)

    def passing(self, layer: int, state: Tensor, order: list[int]) -> None:
        if any(_layer(site) == layer for site in self.receivers or ()):
            self._receive(layer, self.assemble(layer, state, order))

    def step(self, layer: int, state: Tensor, moving: list[int], joining: list[int]) -> tuple[Tensor, list[int]]:
        few, order = self.rows(layer), [*moving, *joining]
        h = self._join(state, self.target.state(layer, few), len(joining))
        h = self.put("resid", layer, h, order, few)
        return self.after_attention(layer, self.add_recorded_attention(layer, h, order), order), order

    def mlp(self, layer: int, x: Tensor) -> Tensor:
        if not self.freeze_mlp:
            return super().mlp(layer, x)
        return self.target.after_attention("mlp", layer, self.rows(layer)).expand_as(x)

    def _receive(self, layer: int, arriving: Tensor) -> None:
        """What the receivers of a layer are when its input is what arrives."""
        block, width = self.encoder.blocks[layer], self.encoder.width // self.encoder.heads
        u = block.norm_before_attention(arriving)
        for site in self.receivers or ():
            if _layer(site) == layer:
                made = {"q": block.query, "k": block.key, "v": block.value}[site.part]
                rows = slice(site.head * width, (site.head + 1) * width)  # type: ignore[operator]
                bias = None if made.bias is None else made.bias[rows]
                self._received[site] = functional.linear(u, made.weight[rows], bias)


def check_path(senders: Sequence[SiteSet], receivers: SiteSet | None) -> None:
    """Raises for the first sender that cannot send, receiver that cannot receive, or sender below no receiver."""
    for site in (site for sender in senders for site in sender):
        if site.part not in SENDERS:
            raise UserError(
                f"{site} cannot send", todo="senders are heads (4.9), L4.attn, L4.mlp, L4.resid or embed"
            )
    if receivers is None:
        return
    for site in receivers:
        if site.part not in RECEIVERS or site.at is not None:
            raise UserError(f"{site} cannot receive", todo="receivers are logits, or q, k, v of heads: L10.H1.v")
    highest = max(_layer(site) for site in receivers)
    for site in (site for sender in senders for site in sender):
        if not _layer(site) < top(receivers, site):
            raise UserError(
                f"{site} is not below any receiver of {receivers}", todo=f"senders are below layer {highest}"
            )


def top(receivers: SiteSet, sender: Site) -> int:
    """The layer below which a sender reaches some receiver; the stream at a layer's input reaches that layer."""
    return max(_layer(site) for site in receivers) + (sender.part in ("resid", "embed"))


def _is_whole_head(site: Site) -> bool:
    return site.part == "z" and site.at is None


def _layer(site: Site) -> int:
    return 0 if site.part == "embed" else int(site.layer)  # type: ignore[arg-type]
