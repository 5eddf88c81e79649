"""What each word of a document adds to a cross-encoder's score, by Captum and by SHAP, as their own guides do it.

Both give a number per token; a word's is the sum over its tokens and over all its places.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch

from whyrank.text.words import word_spans

#: The query and the document in, each word's share out.
Explainer = Callable[[str, str], dict[str, float]]


def captum_explainer(model: Any, tokenizer: Any, steps: int = 50) -> Explainer:
    """LayerIntegratedGradients on the word embeddings; the baseline has [PAD] for every token of the document."""
    from captum.attr import LayerIntegratedGradients

    def forward(ids: torch.Tensor, types: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return model(input_ids=ids, token_type_ids=types, attention_mask=mask).logits[:, 0]

    gradients = LayerIntegratedGradients(forward, model.get_input_embeddings())

    def explain(query: str, document: str) -> dict[str, float]:
        made = tokenizer(query, document, truncation=True, return_tensors="pt", return_offsets_mapping=True)
        inside = torch.tensor([[of == 1 for of in made.sequence_ids(0)]])
        ids = made["input_ids"]
        shares = gradients.attribute(
            ids,
            baselines=ids.masked_fill(inside, tokenizer.pad_token_id),
            additional_forward_args=(made["token_type_ids"], made["attention_mask"]),
            n_steps=steps,
        ).sum(-1)[inside]
        places = made["offset_mapping"][inside].tolist()
        return by_word(document, zip(places, shares.tolist(), strict=True))

    return explain


def shap_explainer(score: Callable[[list[tuple[str, str]]], np.ndarray], tokenizer: Any) -> Explainer:
    """shap.Explainer with its Text masker over the ranker's tokenizer, all settings its own."""
    import shap

    def explain(query: str, document: str) -> dict[str, float]:
        def scores(texts: Iterable[str]) -> np.ndarray:
            return score([(query, str(text) if str(text).strip() else ".") for text in texts])

        found = shap.Explainer(scores, shap.maskers.Text(tokenizer))([document], silent=True)
        ends = list(itertools.accumulate(map(len, found.data[0])))
        assert ends[-1] == len(document), "SHAP's segments are not the document"
        return by_word(document, zip(zip([0, *ends], ends, strict=False), found.values[0], strict=True))

    return explain


def by_word(document: str, shares: Iterable[tuple[Any, float]]) -> dict[str, float]:
    """Sums over the tokens that start inside a word, or in the white space before it."""
    kept = [(start + len(t) - len(t.lstrip()), share)
            for (start, end), share in shares if (t := document[start:end]).strip()]  # fmt: skip
    found: dict[str, float] = {}
    for word, start, end in word_spans(document):
        found[word] = found.get(word, 0.0) + sum(share for at, share in kept if start <= at < end)
    return found
