"""The score of a set of edges, by plain hooks on the Hugging Face module: each node in passes of its own."""

from contextlib import ExitStack
from functools import cache

import torch

from tests.encoders.test_sites import hook
from tests.tiny import hugging_face_arguments
from whyrank.encoders.site import Site


class ByHooks:
    """A whole model (with its head) of a tiny architecture and the two inputs of a pair."""

    def __init__(self, model, architecture, baseline, perturbed, layers=3, heads=4):
        self.model, self.architecture = model, architecture
        self.inputs = {False: baseline, True: perturbed}
        self.layers = layers
        self.nodes = [Site("z", layer, head) for layer in range(layers) for head in range(heads)]
        self.nodes += [Site("mlp", layer) for layer in range(layers)]
        self.base = self.run(baseline, {}, self.nodes)[1]

    def run(self, inputs, put, watch=()):
        """The score, which two labels make, and what the watched sites are, when values are put at sites."""
        seen = {}
        with torch.no_grad(), ExitStack() as stack:
            for site, value in put.items():
                stack.enter_context(self._hook(site, lambda x, value=value: value.expand_as(x)))
            for site in watch:
                stack.enter_context(self._hook(site, lambda x, site=site: seen.setdefault(site, x.clone())))
            out = self.model(**hugging_face_arguments(self.architecture, inputs))
        return float(out.logits[0, 1] - out.logits[0, 0]), seen

    def _hook(self, site, change):
        return hook(self.model.base_model, self.architecture, site, change)

    def score(self, edges):
        """`edges` holds pairs (sender, receiver) of sites."""
        senders = {}
        for sender, receiver in edges:
            senders.setdefault(receiver, set()).add(sender)

        def stream(receiver):
            """The values that its kept senders have now, all others the baseline's; and which embeddings."""
            kept = senders.get(receiver, set())
            put = {node: now(node) if node in kept else self.base[node] for node in self.nodes}
            return self.inputs[Site("embed") in kept], put

        @cache
        def now(node):
            if node.part == "mlp":
                inputs, put = stream(node)
                below = {site: x for site, x in put.items() if _step(site) < _step(node)}
                return self.run(inputs, below, [node])[1][node]
            received = {}
            for part in "qkv":
                receiver = Site(part, node.layer, node.head)
                inputs, put = stream(receiver)
                below = {site: x for site, x in put.items() if site.layer < node.layer}
                received[receiver] = self.run(inputs, below, [receiver])[1][receiver]
            return self.run(self.inputs[False], received, [node])[1][node]

        inputs, put = stream(Site("logits"))
        return self.run(inputs, put)[0]


def _step(site):
    return 2 * site.layer + (site.part == "mlp")
