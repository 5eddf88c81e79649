"""Every head to the logits, for several pairs at once.

With all heads frozen, rows are independent; where the read-out reads some rows only, a sender is one vector per
row through LayerNorms and MLPs, from its layer up. So few numbers keep no core busy: the senders of several pairs,
of any length, travel together; and of both runs of a pair only those rows are kept.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from whyrank.encoders.site import Site
from whyrank.interventions.intervention import Measured
from whyrank.interventions.packed import Packed
from whyrank.interventions.prepared import PreparedPair


def heads_to_logits(
    group: Sequence[PreparedPair], senders: Sequence[Site], *, noise: bool = False, freeze_mlp: bool = False
) -> list[Measured]:
    """The scores of each pair, with each sender (a head's output at all positions) changed on its way up."""
    ranker = group[0].ranker
    encoder, rows = ranker.encoder, ranker.rows
    assert rows is not None and all(site.part == "z" and site.at is None for site in senders)
    packed = Packed(encoder, [one.inputs for one in group])
    kept, top = packed.run(packed.embed(), rows, ("resid", "z", "attn", "mlp"), keep=rows)
    shape = (len(group), 2, len(rows))
    both = {place: x.unflatten(0, shape) for place, x in kept.items()}
    target, source = (1, 0) if noise else (0, 1)
    state, order = top.new_empty(len(group), 0, len(rows), encoder.width), list[int]()
    for layer, block in enumerate(encoder.blocks):
        joining = [number for number, site in enumerate(senders) if site.layer == layer]
        order += joining
        own = both["resid", layer][:, target, None]
        h = torch.cat([state, own.expand(-1, len(joining), -1, -1)], dim=1) + both["attn", layer][:, target, None]
        if joining:
            z = both["z", layer].unflatten(-1, (encoder.heads, -1))  # [pairs, 2, rows, H, d_head]
            heads = [int(senders[number].head or 0) for number in joining]
            change = (z[:, source] - z[:, target])[:, :, heads]
            W_O = block.output.weight.T.unflatten(0, (encoder.heads, -1))[heads]
            h[:, len(order) - len(joining) :] += torch.einsum("prjh,jhd->pjrd", change, W_O)
        x = block.norm_after_attention(h)
        mlp = both["mlp", layer][:, target, None] if freeze_mlp else block.mlp(block.norm_before_mlp(x))
        state = block.norm_after_mlp(x + mlp)
    back = torch.empty(len(senders), dtype=torch.long)
    back[torch.tensor(order, dtype=torch.long)] = torch.arange(len(senders))
    states, last = encoder.anatomy.final_norm(state[:, back]), encoder.anatomy.final_norm(top.unflatten(0, shape))
    return [
        Measured(*one.scores(ends), one.read_out(mine, one.inputs.only(target).repeated(len(senders))).cpu())
        for one, ends, mine in zip(group, last, states, strict=True)
    ]
