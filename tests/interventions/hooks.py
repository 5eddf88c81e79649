"""The oracle of the exactness tests: plain hooks on a ranker's Hugging Face module, BERT's names."""

from contextlib import ExitStack

import torch

from tests.plain_hooks import hooked
from whyrank.axioms.realise import realise_for_patching


class PlainHooks:
    """Both sides of a pair through the module's own forward pass, padded as in a batch with a longer text."""

    def __init__(self, ranker, pair, padding=5, side="document"):
        self.ranker, self.module = ranker, ranker.encoder.anatomy.module
        realised = realise_for_patching(pair, ranker, side)
        self.names = realised.names
        inputs = ranker.opened_inputs(realised.texts, side)
        self.length = inputs.ids.shape[1]
        pad = (0, padding)
        self.ids = torch.nn.functional.pad(inputs.ids, pad, value=ranker.pieces.pad_id)
        self.types = torch.nn.functional.pad(inputs.types, pad)
        self.mask = (torch.arange(self.length + padding) < self.length).expand(2, -1)
        self.inputs = inputs
        (self.read_out,) = ranker.read_outs([realised.texts[0]], side)  # before any hook is there
        self.width = ranker.encoder.width // ranker.encoder.heads

    def run(self, side):
        """The score of one side."""
        at = slice(side, side + 1)
        hidden = self.module(
            input_ids=self.ids[at], attention_mask=self.mask[at].long(), token_type_ids=self.types[at]
        ).last_hidden_state[:, : self.length]
        rows = hidden if self.ranker.rows is None else hidden[:, list(self.ranker.rows)]
        return self.read_out(rows, self.inputs.only(side))[0]

    def module_of(self, site):
        if site.part == "embed":
            return self.module.embeddings
        block = self.module.encoder.layer[site.layer]
        attention = block.attention
        return {
            "z": attention.output.dense, "attn": attention.output.dense, "mlp": block.output.dense,
            "q": attention.self.query, "k": attention.self.key, "v": attention.self.value, "resid": block,
        }[site.part]  # fmt: skip

    def at(self, site, change):
        """change(value) instead of the site's value, which is [1, S, .]."""
        columns = slice(None) if site.head is None else slice(site.head * self.width, (site.head + 1) * self.width)
        return hooked(self.module_of(site), columns, change, before=site.part in ("z", "resid"))

    def read(self, sites, side):
        seen = {}
        with ExitStack() as stack:
            for site in sites:
                stack.enter_context(self.at(site, lambda x, site=site: seen.setdefault(site, x.clone())))
            self.run(side)
        return seen

    def patched(self, patch, direction="denoise", values=None):
        """The target's score with the source's values (or these) at the sites of a set."""
        target, source = (0, 1) if direction == "denoise" else (1, 0)
        values = self.read(list(patch), source) if values is None else values
        with ExitStack() as stack:
            for site in patch:
                stack.enter_context(self.at(site, lambda x, site=site: self._cut(x, values[site], site)))
            return float(self.run(target))

    def _cut(self, x, value, site):
        if site.at is None:
            return value.expand_as(x)
        named = [i for i, name in enumerate(self.names) if name == site.at]
        places = [site.at] if isinstance(site.at, int) else named
        x = x.clone()
        x[:, places] = value.expand_as(x)[:, places]
        return x

    def path(self, sender, receivers=(), freeze_mlp=False, direction="denoise"):
        """Every head frozen but the sender; receivers then overwritten in a second pass."""
        from whyrank.encoders.site import Site

        encoder = self.ranker.encoder
        target, source = (0, 1) if direction == "denoise" else (1, 0)
        frozen = [Site("z", layer, head) for layer in range(encoder.layers) for head in range(encoder.heads)]
        frozen += [Site("mlp", layer) for layer in range(encoder.layers)] if freeze_mlp else []
        held, sent, seen = self.read(frozen, target), self.read([sender], source), {}
        with ExitStack() as stack:
            for site in frozen:
                stack.enter_context(self.at(site, lambda x, site=site: held[site]))
            stack.enter_context(self.at(sender, lambda x: self._cut(x, sent[sender], sender)))
            for site in receivers:
                stack.enter_context(self.at(site, lambda x, site=site: seen.setdefault(site, x.clone())))
            score = float(self.run(target))
        return self.patched(receivers, direction, seen) if receivers else score
