"""Readings: attention equal to the original model's own, and what the matching score sums."""

import pytest
import torch
import transformers as hf

from tests.checkpoints import save
from tests.tiny import ARCHITECTURES
from whyrank.circuits.reading import Reading, cross_encoder, positions, read_layers
from whyrank.core.errors import UserError
from whyrank.rankers.load import load
from whyrank.text.pieces import Sequenced

HEAD = "AutoModelForSequenceClassification"
QUERY, TEXT = "how many people live in berlin", "a dog sat on the mat in berlin the cat runs"


def original_attention(folder, tokens, types):
    """[L, H, S, S] as transformers' own eager attention gives it."""
    model = hf.AutoModelForSequenceClassification.from_pretrained(folder, attn_implementation="eager").eval()
    inputs = {"input_ids": torch.tensor([tokens.ids])}
    if types:
        inputs["token_type_ids"] = torch.tensor([tokens.type_ids])
    with torch.no_grad():
        return torch.cat(model(**inputs, output_attentions=True).attentions)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A tiny cross-encoder of an architecture, and its folder; each made once."""
    made = {}

    def opened(architecture="bert"):
        if architecture not in made:
            folder = save(tmp_path_factory.mktemp(architecture), architecture, HEAD)
            made[architecture] = (load(str(folder), kind="cross-encoder"), folder)
        return made[architecture]

    return opened


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_attention_is_that_of_the_original_model(tiny, architecture):
    ranker, folder = tiny(architecture)
    reading = Reading.of(ranker, QUERY, TEXT)
    expected = original_attention(folder, reading.tokens, ranker.pieces.types)
    assert reading.attention.shape == expected.shape
    assert torch.allclose(reading.attention, expected, atol=1e-5)
    assert torch.allclose(reading.attention.sum(-1), torch.ones(()), atol=1e-5)


def test_attention_of_a_real_cross_encoder_is_that_of_the_original_model(real):
    ranker = real("ce-minilm-l12")
    text = "Berlin had a population of 3,520,031 registered inhabitants in an area of 891.82 square kilometers."
    reading = Reading.of(ranker, "How many people live in Berlin?", text)
    expected = original_attention(ranker.checkpoint.folder, reading.tokens, types=True)
    assert reading.attention.shape == expected.shape == (12, 12, len(reading.tokens), len(reading.tokens))
    assert torch.allclose(reading.attention, expected, atol=1e-5)


@pytest.mark.parametrize("architecture", ["bert", "mpnet", "modernbert"])
def test_fewer_layers_and_rows_in_a_padded_batch_are_a_part_of_the_whole(tiny, architecture):
    ranker, _ = tiny(architecture)
    texts = [TEXT, "the cat", "red house on a tree runs fast"]
    whole = [Reading.of(ranker, QUERY, text) for text in texts]
    inputs = ranker.batch([Sequenced(one.tokens.ids, one.tokens.type_ids) for one in whole])
    with torch.inference_mode():
        layers = list(read_layers(ranker.encoder, inputs, 2, rows=5))
    assert len(layers) == 2
    for i, one in enumerate(whole):
        size = len(one.tokens)
        for layer, (state, pattern) in enumerate(layers):
            assert pattern.shape[2:] == (5, inputs.ids.shape[1]) and state.shape[1] == inputs.ids.shape[1]
            assert torch.allclose(pattern[i, :, :, :size], one.attention[layer, :, :5], atol=1e-5)
            assert pattern[i, :, :, size:].abs().max() < 1e-9 if size < inputs.ids.shape[1] else True
    assert torch.equal(Reading.of(ranker, QUERY, TEXT, layers=2).attention, whole[0].attention[:2])


def test_matching_sums_what_query_tokens_read_of_the_document_and_of_nothing_else(tiny):
    ranker, _ = tiny()
    reading = Reading.of(ranker, QUERY, TEXT)
    ids, sep = reading.tokens.ids, ranker.pieces.tokenizer.token_to_id("[SEP]")
    first, last = ids.index(sep), len(ids) - 1
    assert reading.query == list(range(1, first)) and reading.document == list(range(first + 1, last))
    found, with_sep = reading.matching(), reading.matching([*reading.document, last])
    layers, heads = reading.attention.shape[:2]
    assert found.shape == (layers, heads, first - 1)
    for layer in range(layers):
        for head in range(heads):
            for i in range(1, first):
                total = sum(float(reading.attention[layer, head, i, j]) for j in range(first + 1, last))
                assert float(found[layer, head, i - 1]) == pytest.approx(total, abs=1e-6)
                total += float(reading.attention[layer, head, i, last])
                assert float(with_sep[layer, head, i - 1]) == pytest.approx(total, abs=1e-6)


def test_a_long_document_is_cut_as_the_ranker_cuts_it(tiny):
    ranker, _ = tiny()
    reading = Reading.of(ranker, "red cat", " ".join(["house tree dog"] * 30))
    assert len(reading.tokens) == ranker.max_length == reading.attention.shape[-1]
    assert len(reading.query_ids) == 2 and len(reading.document_ids) == ranker.max_length - 5
    assert positions(reading.tokens, "special") == [0, 3, ranker.max_length - 1]


def test_a_bi_encoder_is_refused(tmp_path):
    ranker = load(str(save(tmp_path)), kind="bi-encoder")
    with pytest.raises(UserError, match=r"not a cross-encoder.*ce-minilm-l12"):
        cross_encoder(ranker)
