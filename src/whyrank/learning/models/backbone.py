"""The transformer that a trained model stands on: any BERT-family checkpoint that our encoders open."""

from __future__ import annotations

import inspect
from pathlib import Path

from torch import Tensor, nn

from whyrank.encoders.adapters import open_encoder
from whyrank.encoders.anatomy import HuggingFaceModule
from whyrank.encoders.encoder import Encoder
from whyrank.encoders.inputs import Inputs
from whyrank.encoders.site import Site
from whyrank.rankers.checkpoint import Checkpoint
from whyrank.text.pieces import Pieces


class Backbone(nn.Module):
    """A Hugging Face encoder, its tokenizer, and the same weights as our own opened encoder.

    `states` are L' = layers + 1 hidden states [C, S, d]: the embedding output, then each layer's.
    """

    def __init__(self, module: HuggingFaceModule, pieces: Pieces, checkpoint: Checkpoint) -> None:
        super().__init__()
        self.module, self.pieces, self.checkpoint = module, pieces, checkpoint
        self.encoder: Encoder = open_encoder(module)
        self._takes_types = "token_type_ids" in inspect.signature(module.forward).parameters

    @classmethod
    def of(cls, checkpoint: Checkpoint) -> Backbone:
        """The checkpoint's weights; a head it may have for another task is dropped."""
        module = checkpoint.model("AutoModel", any_head=True)
        return cls(module, checkpoint.pieces(open_encoder(module).max_length), checkpoint)

    @classmethod
    def untrained(cls, checkpoint: Checkpoint) -> Backbone:
        """The same shape with random weights, for a caller that puts trained ones in."""
        module = checkpoint.new_model()
        return cls(module, checkpoint.pieces(open_encoder(module).max_length), checkpoint)

    @property
    def width(self) -> int:
        return self.encoder.width

    @property
    def layers(self) -> int:
        return self.encoder.layers

    @property
    def folder(self) -> Path:
        """Where its config and tokenizer are."""
        return self.checkpoint.folder

    def forward(self, inputs: Inputs) -> list[Tensor]:
        """The states by the module's own pass, which drops out in training."""
        arguments = {"input_ids": inputs.ids, "attention_mask": inputs.attention_mask.long()}
        if self._takes_types:
            arguments["token_type_ids"] = inputs.types
        return list(self.module(**arguments, output_hidden_states=True).hidden_states)

    def opened_states(self, inputs: Inputs) -> list[Tensor]:
        """The same by our own pass, which other parts can read and change."""
        run = self.encoder.run(inputs, read=self.sites)
        return [*(run.values[site] for site in self.sites), run.hidden]

    @property
    def sites(self) -> list[Site]:
        """Where all states but the last stand: the input of each layer."""
        return [Site("resid", layer) for layer in range(self.layers)]
