"""Conv-KNRM against n-grams convolved, compared and pooled one by one."""

import math

import pytest
import torch

from tests.learning.baselines import ODD, PAIRS, built, check_batch_mates, check_learning, check_round_trip, scores
from tests.learning.test_drmm import FILE, cosine
from tests.learning.test_kernels import literal_kernel_sums
from tests.tiny import ARCHITECTURES
from whyrank.core.errors import UserError
from whyrank.learning.models.conv_knrm import ConvKnrmSettings

SMALL = {"filters": 6}
SOME = [PAIRS[0], PAIRS[2], PAIRS[3], ("cat dog zyx", "zyx cat dog red"), ("cat", ""), ("", "cat")]


def on_words(folder, **settings):
    (folder / "vectors.txt").write_text(FILE)
    return built("conv-knrm", folder, vectors=str(folder / "vectors.txt"), **SMALL, **settings)


def literal_ngrams(vectors, size, weight, bias):
    """relu(W [t_i; ...; t_(i+h-1)] + b) beginning at each word, with zeros after the text."""
    width = len(weight[0])
    padded = vectors + [[0.0] * width] * (size - 1)
    return [
        [
            max(0.0, bias[f] + sum(weight[f][a][k] * padded[i + k][a] for k in range(size) for a in range(width)))
            for f in range(len(weight))
        ]
        for i in range(len(vectors))
    ]


def literal_score(network, query, document):
    """All pairs of n-gram lengths, the query's outermost."""
    filters = [(one.weight.tolist(), one.bias.tolist()) for one in network.filters]
    features = []
    for hq, of_query in enumerate(filters, start=1):
        asked = literal_ngrams(query, hq, *of_query)
        for hd, of_document in enumerate(filters, start=1):
            given = literal_ngrams(document, hd, *of_document)
            phi = [0.0] * 11
            for q in asked:
                sums = literal_kernel_sums([cosine(q, d) for d in given])
                phi = [old + math.log(max(k, 1e-10)) for old, k in zip(phi, sums, strict=True)]
            features += [network.settings.log_scale * value for value in phi]
    weight, bias = network.score.weight[0].tolist(), network.score.bias.item()
    return sum(w * x for w, x in zip(weight, features, strict=True)) + bias


@pytest.mark.parametrize("settings", [{}, {"log_scale": 1.0}, {"ngrams": 2}])
@pytest.mark.parametrize("kind", ["pieces", "words"])
def test_the_score_is_the_papers(tmp_path, kind, settings):
    network = (
        built("conv-knrm", tmp_path, **SMALL, **settings) if kind == "pieces" else on_words(tmp_path, **settings)
    )
    expected = []
    for pair in SOME:
        batch = network.read([pair])
        query, document = (
            network.lexicon.embed(part, batch.unknown)[0][part[0] >= 0].tolist()
            for part in (batch.query, batch.document)
        )
        expected.append(literal_score(network, query, document))
    torch.testing.assert_close(scores(network, SOME), expected, rtol=1e-3, atol=1e-3)


def test_there_are_nine_cross_matches_of_eleven_kernels_and_128_filters(tmp_path):
    network = built("conv-knrm", tmp_path)
    assert network.score.in_features == 9 * 11
    assert [tuple(one.weight.shape) for one in network.filters] == [(128, 16, 1), (128, 16, 2), (128, 16, 3)]


def test_a_shared_phrase_is_an_exact_match_of_its_ngrams(tmp_path):
    network = on_words(tmp_path)
    batch = network.read([("cat house zyx", "the cat house zyx")])
    query, document = (
        network.ngrams(network.lexicon.embed(part, batch.unknown)) for part in (batch.query, batch.document)
    )
    for size in range(3):
        similarity = (query[size] @ document[size].mT)[0]
        torch.testing.assert_close(similarity[0, 1], torch.tensor(1.0))
    torch.testing.assert_close((query[0] @ document[0].mT)[0, 2, 3], torch.tensor(1.0))  # a word that no file has


@pytest.mark.parametrize("kind", ["pieces", "words"])
def test_batch_mates_do_not_matter(tmp_path, kind):
    network = built("conv-knrm", tmp_path, log_scale=0.1, **SMALL) if kind == "pieces" else on_words(tmp_path)
    check_batch_mates(network, PAIRS + ODD)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_saved_state_of_word_pieces_scores_the_same(tmp_path, architecture):
    check_round_trip(built("conv-knrm", tmp_path, architecture, **SMALL), tmp_path, architecture, PAIRS + ODD)


@pytest.mark.parametrize("learned", [True, False])
def test_a_saved_state_of_words_scores_the_same_without_the_file(tmp_path, learned):
    network = on_words(tmp_path, train_vectors=learned)
    with torch.no_grad():
        network.lexicon.vectors.mul_(1.5)  # as if they had been learned on
    (tmp_path / "vectors.txt").unlink()
    check_round_trip(network, tmp_path, pairs=PAIRS + ODD)


@pytest.mark.parametrize("kind", ["pieces", "words"])
@pytest.mark.parametrize("learned", [True, False])
def test_vectors_learn_on_at_the_lower_rate_or_stay(tmp_path, kind, learned):
    settings = {"train_vectors": learned, "log_scale": 1.0}
    network = (
        built("conv-knrm", tmp_path, **SMALL, **settings) if kind == "pieces" else on_words(tmp_path, **settings)
    )
    before = network.lexicon.vectors.clone()
    check_learning(network)
    assert torch.equal(network.lexicon.vectors, before) != learned
    assert len(network.slow()) == learned and len(network.fast()) == 8


def test_the_backbones_own_embeddings_are_not_the_ones_that_learn(tmp_path):
    network = built("conv-knrm", tmp_path, **SMALL)
    assert not any("backbone" in name for name in network.state_dict())


@pytest.mark.parametrize("wrong", [{"ngrams": 0}, {"filters": 0}, {"log_scale": -0.1}])
def test_settings_that_cannot_be_are_refused(wrong):
    with pytest.raises(UserError):
        ConvKnrmSettings(**wrong)
