"""What the neural families share: an encoder, a tokenizer, and batches of like lengths."""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from whyrank.core.errors import UserError
from whyrank.encoders.encoder import Encoder
from whyrank.encoders.inputs import Inputs
from whyrank.encoders.site import Site
from whyrank.encoders.tap import Value
from whyrank.rankers.checkpoint import Checkpoint
from whyrank.rankers.ranker import Pair, Ranker, characters_within, finite
from whyrank.text.pieces import Pieces, Sequenced
from whyrank.text.tokens import Tokens

#: Real tokens per batch. Few enough that a layer's activations stay near the cores, enough to fill a matmul.
TOKENS_PER_BATCH = 2048


#: Entries of a config that say where it came from, not what the model computes.
NOT_CONTENT = frozenset({"_name_or_path", "transformers_version", "dtype", "torch_dtype"})


#: The scores [B] of what the read-out reads of the variants of one opened sequence: last hidden states
#: [B, rows, d], or those of all layers [B, L', S, d].
ReadOut = Callable[[Tensor, Inputs], Tensor]


class SiteValues(Mapping[Site, Tensor]):
    """Values by site, also looked up by the site's name: `values["L2.H3.z"]` and `values["2.3"]` are the same."""

    def __init__(self, by_site: Mapping[Site, Tensor]) -> None:
        self._by_site = dict(by_site)

    def __getitem__(self, site: Site | str) -> Tensor:
        return self._by_site[as_site(site)]

    def __iter__(self) -> Iterator[Site]:
        return iter(self._by_site)

    def __len__(self) -> int:
        return len(self._by_site)

    def __repr__(self) -> str:
        shapes = (f"{site}: {list(value.shape)}" for site, value in self._by_site.items())
        return f"SiteValues({', '.join(shapes)})"


class RankerTrace(NamedTuple):
    """One opened pass: the scores [B], the values of the sites that were read (detached), and the tokens of each
    text, special ones included. Rows beyond a text's own tokens are padding."""

    scores: Tensor
    values: SiteValues
    tokens: list[list[str]]


class NeuralRanker(Ranker):
    """A ranker that can be opened: `encoder` is the transformer inside."""

    #: The rows of the last layer that the read-out reads; None is all.
    rows: tuple[int, ...] | None = None
    #: Whether the read-out reads the states of all layers: the embeddings and each block's output, L' in all.
    reads_all_layers = False
    #: Whether the read-out reads the encoder's pooler. Where it does not, the pooler may be whatever came with the
    #: checkpoint, or random if none did.
    reads_pooler = False

    def __init__(self, checkpoint: Checkpoint, encoder: Encoder, pieces: Pieces) -> None:
        self.name, self.source, self.checkpoint = checkpoint.name, checkpoint.source, checkpoint
        self.encoder, self.pieces = encoder, pieces
        self.max_length = pieces.max_length

    def fingerprint(self) -> str:
        """Of the weights as they are now (an edit changes it), the config, the tokenizer, and how all are read."""
        settings = {key: value for key, value in self.checkpoint.settings.items() if key != "kind"}
        config = {key: value for key, value in self.checkpoint.config.items() if key not in NOT_CONTENT}
        identity = [self.kind, settings, config, self.max_length, self.pieces.types, self.pieces.pad_id]
        digest = hashlib.sha256(json.dumps(identity, sort_keys=True, default=str).encode())
        self.pieces.tokenizer.no_truncation()
        digest.update(self.pieces.tokenizer.to_str().encode())
        for name, weight in self.encoder.anatomy.module.state_dict().items():
            if name.startswith("pooler.") and not self.reads_pooler:
                continue
            digest.update(name.encode() + weight.detach().cpu().contiguous().numpy().tobytes())
        for weight in self.head_weights():
            digest.update(weight.detach().cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()

    def head_weights(self) -> Iterable[Tensor]:
        """The weights above the encoder, if the family has any."""
        return ()

    @property
    def document_length(self) -> int:
        """How many tokens a sequence with a document may have before the document is cut."""
        return self.max_length

    def characters_read(self, query: str, text: str) -> int:
        return characters_within(self.document_tokens(query, text), self.document_length, text)

    @abstractmethod
    def document_tokens(self, query: str, text: str) -> Tokens:
        """The whole sequence in which the encoder reads a document, uncut, each token with its role."""

    def opened_tokens(self, query: str, text: str, side: str = "document") -> Tokens:
        """The whole sequence in which the encoder reads `text` on this side of the pair."""
        self.check_side(side)
        return self.document_tokens(query, text)

    def opened_length(self, side: str = "document") -> int:
        """How many tokens such a sequence may have before the text is cut."""
        return self.document_length

    def check_side(self, side: str) -> None:
        """Raises when this family has no such side to open."""
        if side != "document":
            raise UserError(
                f"{self.name} ({self.kind}) reads query and document in one sequence",
                todo="side must be 'document': its one pass is opened",
            )

    def why_not_opened(self, pairs: Sequence[Pair]) -> str | None:
        """Why the pass over one of these pairs cannot be opened though it can be scored; None where all can."""
        return None

    @abstractmethod
    def opened_inputs(self, pairs: Sequence[Pair], side: str = "document") -> Inputs:
        """The sequences whose pass is opened, as one batch."""

    @abstractmethod
    def score_states(
        self, states: Tensor, inputs: Inputs, pairs: Sequence[Pair], side: str = "document"
    ) -> Tensor:
        """The scores [B] that last hidden states [B, rows, d] of opened sequences give, as `rows` are read out, or
        the states of all layers [B, L', S, d] where they are read; `pairs` give the other side's texts where a
        family encodes both apart."""

    def read_outs(self, pairs: Sequence[Pair], side: str = "document") -> list[ReadOut]:
        """For each pair the read-out of variants of its opened side; what the other side needs is made once."""

        def one(pair: Pair) -> ReadOut:
            return lambda states, inputs: self.score_states(states, inputs, [pair] * len(states), side)

        return [one(pair) for pair in pairs]

    def trace(
        self,
        pairs: Sequence[Pair],
        *,
        side: str = "document",
        read: Iterable[Site | str] = (),
        replace: Mapping[Site, Value] | Mapping[str, Value] | None = None,
        categories: Mapping[str, Tensor] | None = None,
    ) -> RankerTrace:
        """One opened pass over a batch of pairs: `read` and `replace` name sites, as values or as text.

        `side` says which text's pass is opened in families that encode query and document apart; `logits` may be
        read, and is the score. The scores have gradients where these are switched on; the values have none.
        """
        sites = list(map(as_site, read))
        inner = [site for site in sites if site.part != "logits"]
        below = [Site("resid", layer) for layer in range(self.encoder.layers * self.reads_all_layers)]
        inputs = self.opened_inputs(pairs, side)
        changed = {as_site(site): value for site, value in (replace or {}).items()}
        run = self.encoder.run(
            inputs, rows=self.rows, read=[*inner, *below], replace=changed, categories=categories
        )
        states = run.hidden
        if self.reads_all_layers:
            states = torch.stack([*(run.values[site] for site in below), run.hidden], dim=1)
        scores = self.score_states(states, inputs, pairs, side)
        finite(scores.detach().cpu().numpy(), pairs, self.name)
        values = {site: run.values.get(site, scores).detach() for site in sites}
        return RankerTrace(scores, SiteValues(values), self._tokens(inputs))

    def _tokens(self, inputs: Inputs) -> list[list[str]]:
        """Each sequence's own tokens, as text."""
        name = self.pieces.tokenizer.id_to_token
        rows = zip(inputs.ids.tolist(), inputs.lengths.tolist(), strict=True)
        return [[str(name(token)) for token in ids[:length]] for ids, length in rows]

    def batch(self, sequences: Sequence[Sequenced]) -> Inputs:
        """The sequences as one padded batch on the encoder's device."""
        return Inputs.of(sequences, self.pieces.pad_id, self.encoder.device)


def as_site(site: Site | str) -> Site:
    """The site itself, or the one that a text names."""
    return Site.parse(site) if isinstance(site, str) else site


def batches_by_length(sequences: Sequence[Sequenced], tokens: int = TOKENS_PER_BATCH) -> Iterator[list[int]]:
    """Indices of sequences of like length, the longest first, at most so many tokens per batch with padding.

    The longest first, so that a model too big for the memory fails at once.
    """
    order = sorted(range(len(sequences)), key=lambda i: -len(sequences[i]))
    start = 0
    while start < len(order):
        size = max(1, tokens // len(sequences[order[start]]))
        yield order[start : start + size]
        start += size


def no_gradients() -> torch.inference_mode:
    """For scoring only; an opened pass keeps its gradients."""
    return torch.inference_mode()
