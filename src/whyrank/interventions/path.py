"""Path patching: what a sender does to a receiver directly, every other head held at the target's values.

1. Run the target with every head frozen to what it was, except the sender, which has the source's value; MLPs and
   LayerNorms are recomputed (or MLPs frozen too: `freeze_mlp`).
2. Receiver = logits: read the score. Receivers = q, k, v of some heads: run the target again, nothing frozen, with
   all receivers overwritten by what they were in step 1, and read the score.

With every head frozen nothing moves between positions: rows are independent, so a sender travels by LayerNorms and
MLPs only, and for a read-out of the first row only that row is ever computed. All of it is exact.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from whyrank.encoders.attention import split_heads
from whyrank.encoders.site import Site, SiteSet
from whyrank.errors import UserError
from whyrank.interventions.recording import Recording
from whyrank.interventions.wavefront import Wavefront

#: What can send: a head's output, a sublayer's output, the residual stream at a layer, the embeddings.
SENDERS = ("z", "attn", "mlp", "resid", "embed")
RECEIVERS = ("q", "k", "v")


def path_to_logits(
    target: Recording,
    source: Recording,
    senders: Sequence[Site],
    *,
    rows: Sequence[int] | None = None,
    freeze_mlp: bool = False,
) -> Tensor:
    """The last hidden states [V, S or rows, d], one a sender."""
    travelled = _travel(target, source, senders, target.encoder.layers, rows, freeze_mlp)
    return target.encoder.anatomy.final_norm(travelled)


def path_to_heads(
    target: Recording,
    source: Recording,
    senders: Sequence[Site],
    receivers: SiteSet,
    *,
    rows: Sequence[int] | None = None,
    freeze_mlp: bool = False,
) -> Tensor:
    """The last hidden states [V, S or rows, d], one a sender, by way of all the receivers together.

    A sender at or above a receiver's layer does not reach it; one that reaches none is refused.
    """
    _check(senders, receivers)
    arriving: dict[int, Tensor] = {
        layer: _travel(target, source, senders, layer, None, freeze_mlp)
        for layer in sorted({_layer(site) for site in receivers})
    }
    values = {site: _received(target, arriving[_layer(site)], site) for site in receivers}
    walk = Wavefront(target, lambda number, site: values[site][number], [receivers] * len(senders), rows, {})
    return walk.run()


def _travel(
    target: Recording,
    source: Recording,
    senders: Sequence[Site],
    to: int,
    rows: Sequence[int] | None,
    freeze_mlp: bool,
) -> Tensor:
    """The input of layer `to` [V, S or rows, d] when a sender has the source's value and all heads are frozen."""
    first = target.resid[0] if rows is None else target.resid[0][list(rows)]
    state, order = first.new_empty(0, *first.shape), []
    for layer in range(to):
        here = [number for number, sender in enumerate(senders) if _layer(sender) == layer]
        base = _rows(target.resid[layer], rows)
        h = torch.cat([state, base.expand(len(here), -1, -1)]).clone()
        order += here
        old = len(order) - len(here)
        state = _frozen_layer(
            target, source, layer, h, [(old + i, senders[n]) for i, n in enumerate(here)], rows, freeze_mlp
        )
    late = [number for number, sender in enumerate(senders) if _layer(sender) >= to]
    arrived = _rows(target.resid[to], rows).expand(len(late), -1, -1).clone()
    for row, number in enumerate(late):
        if senders[number].part in ("resid", "embed") and _layer(senders[number]) == to:
            arrived[row] = _rows(source.value(senders[number]), rows)
    state = torch.cat([state, arrived])
    back = torch.empty(len(senders), dtype=torch.long)
    back[torch.tensor(order + late, dtype=torch.long)] = torch.arange(len(senders))
    return state[back]


def _frozen_layer(
    target: Recording,
    source: Recording,
    layer: int,
    h: Tensor,
    joining: list[tuple[int, Site]],
    rows: Sequence[int] | None,
    freeze_mlp: bool,
) -> Tensor:
    """One layer with its heads as they were, but for the senders that join here."""
    block, heads = target.encoder.blocks[layer], target.encoder.heads
    z = _rows(target.z[layer], rows).expand(len(h), -1, -1).clone()
    for row, sender in joining:
        value = _rows(source.value(sender), rows)
        if sender.part in ("resid", "embed"):
            h[row] = value
        elif sender.part == "z":
            width = z.shape[-1] // heads
            z[row, :, sender.head * width : (sender.head + 1) * width] = value  # type: ignore[operator]
    attn = block.output(z)
    for row, sender in joining:
        if sender.part == "attn":
            attn[row] = _rows(source.value(sender), rows)
    x = block.norm_after_attention(h + attn)
    frozen = _rows(target.mlp[layer], rows).expand(len(h), -1, -1).clone()
    mlp = frozen if freeze_mlp else block.mlp(block.norm_before_mlp(x))
    for row, sender in joining:
        if sender.part == "mlp":
            mlp[row] = _rows(source.value(sender), rows)
    return block.norm_after_mlp(x + mlp)


def _received(target: Recording, arriving: Tensor, site: Site) -> Tensor:
    """A receiver's q, k or v [V, S, d_head] when its layer's input is what arrives."""
    block = target.encoder.blocks[_layer(site)]
    u = block.norm_before_attention(arriving)
    part = {"q": block.query, "k": block.key, "v": block.value}[site.part]
    return split_heads(part(u), target.encoder.heads)[:, site.head]


def _check(senders: Sequence[Site], receivers: SiteSet) -> None:
    for sender in senders:
        if sender.part not in SENDERS or sender.at is not None:
            raise UserError(
                f"{sender} cannot send", todo="senders are heads (4.9), L4.attn, L4.mlp, L4.resid or embed"
            )
    for site in receivers:
        if site.part not in RECEIVERS or site.at is not None:
            raise UserError(f"{site} cannot receive", todo="receivers are logits, or q, k, v of heads: L10.H1.v")
    highest = max(_layer(site) for site in receivers)
    for sender in senders:
        reaches = _layer(sender) < highest or (sender.part in ("resid", "embed") and _layer(sender) <= highest)
        if not reaches:
            raise UserError(
                f"{sender} is not below any receiver of {receivers}", todo=f"senders are below layer {highest}"
            )


def _rows(x: Tensor, rows: Sequence[int] | None) -> Tensor:
    return x if rows is None else x[..., list(rows), :]


def _layer(site: Site) -> int:
    return 0 if site.part == "embed" else int(site.layer)  # type: ignore[arg-type]
