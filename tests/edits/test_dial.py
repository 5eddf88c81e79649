"""The dial: a rank-1 change of rows, against the matrix rebuilt by numpy."""

import numpy as np
import pytest
import torch
from scipy.stats import linregress

from tests.edits.dialed import cross_encoder, dialed, made_idf, numpy_svd, token
from tests.tiny import ARCHITECTURES
from whyrank.collections.collection import Collection
from whyrank.core.errors import UserError
from whyrank.edits.dial import Dial
from whyrank.edits.edit import Edit
from whyrank.edits.rows import applied
from whyrank.edits.units import Units
from whyrank.text.vocabulary import whole_words


@pytest.fixture(scope="module")
def ranker(tmp_path_factory):
    return cross_encoder(tmp_path_factory.mktemp("bert"))


def matrix(ranker):
    return ranker.encoder.word_embeddings.detach().clone()


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_an_edit_is_the_matrix_rebuilt_with_one_other_u0(tmp_path, architecture):
    ranker = cross_encoder(tmp_path, architecture)
    dial = dialed(ranker)
    u, s, vt = numpy_svd(ranker)  # made_idf goes against numpy's own u[:, 0]: the sign is the same
    u = u.copy()
    sd = u[list(whole_words(ranker.pieces.tokenizer)), 0].std()
    for word, turn in (("cat", lambda x: x - 4 * abs(x)), ("dog", lambda x: x + 3 * sd)):
        u[token(ranker, word), 0] = turn(u[token(ranker, word), 0])
    before = matrix(ranker)
    with applied(ranker, dial.change(Edit.of(up=["cat=x5"], down=["dog=3"]))):
        np.testing.assert_allclose(matrix(ranker), (u * s) @ vt, atol=2e-6)
        same = [i for i in range(len(before)) if i not in (token(ranker, "cat"), token(ranker, "dog"))]
        assert torch.equal(matrix(ranker)[same], before[same])
        assert not torch.equal(matrix(ranker), before)


def test_the_idf_decides_the_sign(ranker):
    plain, turned = dialed(ranker), dialed(ranker, sign=-1.0)
    torch.testing.assert_close(plain.u0, -turned.u0)
    assert plain.correlation.r < -0.9 and turned.correlation.r < -0.9
    up, down = plain.change(Edit.of(up=["cat=5"])), turned.change(Edit.of(down=["cat=5"]))
    torch.testing.assert_close(up.rows, down.rows)


def test_edits_of_different_terms_commute_and_one_term_goes_on_from_where_it_was(ranker):
    dial = dialed(ranker)

    def rows(*edits):
        with applied(ranker, dial.change(sum(edits, Edit()))):
            return matrix(ranker)

    cat, dog, more = Edit.of(up=["cat=x3"]), Edit.of(down=["dog=7"]), Edit.of(up=["cat=x2"])
    assert torch.equal(rows(cat, dog), rows(dog, cat))
    u = float(dial.u0[token(ranker, "cat")])
    after = (dial.turns(cat + more))[0].after
    assert after == pytest.approx((u - 2 * abs(u)) - abs(u - 2 * abs(u)))


def test_a_piece_that_two_terms_share_moves_once(ranker):
    dial = dialed(ranker)
    alone = dial.turns(Edit.of(up=["cat=5"]))
    both = dial.turns(Edit.of(up=["cat=5", "cat dog=5"]))
    assert [turn.after for turn in both if turn.piece == "cat"] == [alone[0].after]
    against = dial.turns(Edit.of(up=["cat=x5"], down=["cat dog=x3"]))
    u = float(dial.u0[token(ranker, "cat")])
    (mine,) = [turn for turn in against if turn.piece == "cat"]
    assert mine.after == pytest.approx(u - 4 * abs(u) + 2 * abs(u)) and mine.terms == ("cat", "cat dog")


def test_units_are_those_of_numpy_and_scipy_over_whole_words(ranker):
    dial, words = dialed(ranker), list(whole_words(ranker.pieces.tokenizer))
    u = dial.u0.numpy()[words]
    units = dial.units
    assert (
        units.words == len(words) and units.sd == pytest.approx(u.std()) and units.mean == pytest.approx(u.mean())
    )
    fit = linregress(dial.idf.bm25[words], u)
    assert units.idf == pytest.approx(-fit.slope) and units.idf > 0
    assert [units.low, units.high] == pytest.approx(np.percentile(u, [1, 99]).tolist())
    cat = float(dial.u0[token(ranker, "cat")])
    (turn,) = dial.turns(Edit.of(up=["cat=1.5idf"]))
    assert turn.after == pytest.approx(cat + 1.5 * fit.slope) and turn.before == cat
    assert units.in_idf(turn.after - turn.before) == pytest.approx(1.5)
    (turn,) = dial.turns(Edit.of(down=["cat=2"]))
    assert units.in_sd(turn.after - turn.before) == pytest.approx(-2)


def test_leaving_the_natural_range_is_told_from_coming_back():
    units = Units(100, 0.0, 1.0, 0.5, -2.0, 3.0)
    assert units.leaves(0.0, -2.5) and units.leaves(-3.0, -4.0) and units.leaves(0.0, 3.1)
    assert not units.leaves(-4.0, -3.0) and not units.leaves(5.0, 3.5) and not units.leaves(0.0, 2.9)
    assert units.reach == (2.0, 3.0)


def test_where_the_sign_is_not_clear_there_is_no_dial(ranker):
    noise = made_idf(ranker)
    noise.bm25[:] = np.where(
        np.isfinite(noise.bm25), np.random.default_rng(5).normal(size=len(noise.bm25)), np.nan
    )
    with pytest.raises(UserError, match=r"so its sign is unknown; give a larger collection, or as idf wordfreq"):
        Dial.by(ranker, noise)
    two_words = Collection.from_records("two", {"d": "cat dog", "e": "cat"}, {"q": "cat"})
    with pytest.raises(UserError, match=r"r = –, 2 words"):
        Dial.of(ranker, "collection", two_words)


@pytest.mark.parametrize("name", ["ce-minilm-l12", "bi-minilm-l3"])
def test_the_built_in_collection_is_enough_for_the_sign_of_real_rankers(real, name):
    dial = Dial.of(real(name))
    assert dial.idf.source == "demo" and dial.correlation.interval.high < -0.1
    tokenizer = real(name).pieces.tokenizer
    rare, common = (
        dial.u0[[tokenizer.token_to_id(word) for word in some]].mean()
        for some in (["spying", "vivid", "atom", "zinc"], ["found", "shows", "people", "number"])
    )
    assert rare < common
