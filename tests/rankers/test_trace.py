"""`trace` by the names of sites: the same as by their values, with the tokens of each text, detached."""

import pytest
import torch

from tests.checkpoints import save, tokenizer
from whyrank.core.errors import UserError
from whyrank.encoders.site import Site
from whyrank.rankers.load import load

PAIRS = [("red tree", "many people live in berlin"), ("cat", "dog")]
HEAD = Site("z", 1, 2)


@pytest.fixture(scope="module")
def ranker(tmp_path_factory):
    return load(str(save(tmp_path_factory.mktemp("ce"), head="AutoModelForSequenceClassification")))


def test_a_value_is_found_by_the_site_its_name_and_its_short_name(ranker):
    values = ranker.trace(PAIRS, read=["L1.H2.z", "0.1@cls", HEAD, "logits"]).values
    assert list(map(str, values)) == ["L1.H2.z", "L0.H1.z@cls", "logits"]
    assert values[HEAD] is values["L1.H2.z"] is values["1.2"]
    assert "1.2" in values and "1.1" not in values
    expected = ranker.trace(PAIRS, read=[HEAD]).values[HEAD]
    assert torch.allclose(values["1.2"], expected, atol=1e-6)


def test_values_are_shown_as_sites_and_shapes(ranker):
    trace = ranker.trace(PAIRS, read=["L1.H2.z", "logits"])
    shape = list(trace.values[HEAD].shape)
    assert repr(trace.values) == f"SiteValues(L1.H2.z: {shape}, logits: [2])" and len(shape) == 3


def test_names_and_sites_replace_the_same(ranker):
    by_name = ranker.trace(PAIRS, replace={"1.2": 0.0}).scores
    assert torch.allclose(by_name, ranker.trace(PAIRS, replace={HEAD: 0.0}).scores, atol=1e-6)
    assert not torch.allclose(by_name, ranker.trace(PAIRS).scores, atol=1e-6)


def test_a_texts_own_values_change_nothing(ranker):
    plain = ranker.trace(PAIRS[:1], read=["embed", "L1.mlp"])
    again = ranker.trace(PAIRS[:1], replace=plain.values).scores
    assert torch.allclose(again, plain.scores, atol=1e-6)


def test_the_tokens_of_each_text_without_padding(ranker):
    tokens, theirs = ranker.trace(PAIRS).tokens, tokenizer("bert")
    assert tokens == [theirs.convert_ids_to_tokens(theirs(*pair)["input_ids"]) for pair in PAIRS]
    assert tokens[1] == ["[CLS]", "cat", "[SEP]", "dog", "[SEP]"]
    value = ranker.trace(PAIRS, read=["L1.H2.pattern"]).values["L1.H2.pattern"]
    assert value.shape[1] == max(map(len, tokens))


def test_values_are_detached_and_scores_are_not(ranker):
    trace = ranker.trace(PAIRS, read=[HEAD, "logits"])
    assert trace.scores.requires_grad
    assert not any(value.requires_grad for value in trace.values.values())


def test_a_name_that_is_no_site_is_refused(ranker):
    with pytest.raises(UserError, match="'head one' is not a site"):
        ranker.trace(PAIRS, read=["head one"])
    with pytest.raises(UserError, match="layers are 0 to"):
        ranker.trace(PAIRS, replace={"9.1": 0.0})
    with pytest.raises(KeyError):
        ranker.trace(PAIRS, read=[HEAD]).values["0.0"]
