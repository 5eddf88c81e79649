"""Alignment with a collection's IDF, against numpy; and how singular vectors go with IDF, against scipy."""

import numpy as np
import pytest
import torch
from scipy import stats

from tests.edits.dialed import COLLECTION, cross_encoder, dialed, made_idf, numpy_svd
from whyrank.collections.idf import TokenIdf
from whyrank.core.errors import UserError
from whyrank.edits.align import aligned_rows, aligned_u0, alignment, alignment_fit, by_row
from whyrank.edits.dial import Dial
from whyrank.edits.idf import idf_direction
from whyrank.edits.rows import applied
from whyrank.encoders.spectrum import Spectrum


@pytest.fixture(scope="module")
def ranker(tmp_path_factory):
    return cross_encoder(tmp_path_factory.mktemp("ranker"), "electra")


def counted(ranker):
    """An IDF that words of the collection only have, mixed with the made one, so that its sign is clear."""
    made, own = made_idf(ranker), TokenIdf.counted(
        ranker.pieces.tokenizer, (text for _, text in COLLECTION.documents()), "small"
    )  # fmt: skip
    values = np.where(np.isfinite(own.bm25), made.bm25 + 0.3 * own.bm25, np.nan)
    return TokenIdf("mixed", values, values * 2, own.whole)


def test_alignment_is_the_matrix_rebuilt_with_a_rescaled_idf(ranker):
    idf = counted(ranker)
    dial, (u, s, vt) = Dial.by(ranker, idf), numpy_svd(ranker)
    target = u.copy()
    known = np.flatnonzero(np.isfinite(idf.bm25))
    assert 5 < len(known) < len(idf.bm25)
    target[known, 0] = stats.zscore(-idf.bm25[known]) * u[known, 0].std() + u[known, 0].mean()
    before = ranker.encoder.word_embeddings.detach().clone()
    change = alignment(dial)
    with applied(ranker, change):
        after = ranker.encoder.word_embeddings.detach().clone()
    np.testing.assert_allclose(after, (target * s) @ vt, atol=2e-6)
    others = [i for i in range(len(before)) if i not in set(known.tolist())]
    assert torch.equal(after[others], before[others]) and not torch.equal(after[known], before[known])
    by_matrix = aligned_rows(before, dial.spectrum, by_row(idf, "bm25", len(before)))
    torch.testing.assert_close(by_matrix, after, atol=1e-6, rtol=0)
    assert by_matrix.dtype == before.dtype


def test_u0_keeps_its_mean_and_spread_and_follows_the_idf():
    u0 = torch.tensor([0.3, -0.2, 0.5, 0.1, 0.9], dtype=torch.float64)
    idf = torch.tensor([1.0, 2.0, torch.nan, 4.0, 8.0], dtype=torch.float64)
    new = aligned_u0(u0, idf)
    known = [0, 1, 3, 4]
    assert new[2] == u0[2]
    assert new[known].mean() == pytest.approx(u0[known].mean())
    assert new[known].std() == pytest.approx(u0[known].std())
    assert np.corrcoef(new[known], idf[known])[0, 1] == pytest.approx(-1)


def test_words_that_are_all_equally_rare_cannot_be_aligned_with():
    u0 = torch.tensor([0.3, -0.2, 0.5])
    for idf in (torch.tensor([2.0, 2.0, 2.0]), torch.tensor([1.0, torch.nan, torch.nan])):
        with pytest.raises(UserError, match="equally rare"):
            aligned_u0(u0, idf)


def test_the_description_has_r_before_after_and_by_a_new_svd(ranker):
    dial = Dial.by(ranker, counted(ranker))
    change = alignment(dial, "plain")
    fit = alignment_fit(dial, change, "plain")
    words = np.isfinite(dial.idf.plain) & dial.idf.whole
    before = stats.pearsonr(dial.u0[: len(words)][words], dial.idf.plain[words]).statistic
    assert fit.r_before == pytest.approx(before) and fit.r_after == pytest.approx(-1)
    with applied(ranker, change):
        u = numpy_svd(ranker)[0][: len(words), 0]
    assert abs(fit.r_by_new_svd) == pytest.approx(abs(stats.pearsonr(u[words], dial.idf.plain[words]).statistic))
    assert fit.words == words.sum() and fit.tokens == np.isfinite(dial.idf.plain).sum()


def test_correlations_are_those_of_scipy_over_whole_words(ranker):
    idf = counted(ranker)
    found = idf_direction(ranker, idf, vectors=4)
    table = found.tokens
    words = np.isfinite(idf.bm25) & idf.whole
    u = numpy_svd(ranker)[0]
    assert [(row.vector, row.formula) for row in found.correlations[:3]] == [
        (0, "bm25"), (0, "plain"), (1, "bm25")
    ]  # fmt: skip
    for row in found.correlations:
        theirs = stats.pearsonr(u[: len(words), row.vector][words], idf.of(row.formula)[words])
        interval = theirs.confidence_interval(0.95)
        assert row.r.value == pytest.approx(-abs(theirs.statistic), abs=1e-6) and row.r.pairs == words.sum()
        low, high = sorted(abs(end) for end in interval) if theirs.statistic < 0 else interval
        assert sorted((abs(row.r.low), abs(row.r.high))) == pytest.approx(sorted((abs(low), abs(high))), abs=1e-6)
    assert len(found.correlations) == 8 and (found.rows, found.width) == (97, 8)
    assert list(table.columns) == ["token", "piece", "whole", "idf_bm25", "idf_plain", "U0", "U1", "U2", "U3"]
    np.testing.assert_allclose(np.abs(table["U0"]), np.abs(u[: len(table), 0]), atol=1e-9)
    assert table["piece"][table["token"] == ranker.pieces.tokenizer.token_to_id("cat")].item() == "cat"


def test_an_idf_that_is_given_has_one_formula(ranker):
    found = idf_direction(ranker, made_idf(ranker), vectors=2)
    assert [row.formula for row in found.correlations] == ["given", "given"] and "idf" in found.tokens
    assert found.correlations[0].r.value < -0.9


def test_what_an_encoder_has_few_dimensions_for_is_cut(ranker):
    assert len(idf_direction(ranker, made_idf(ranker), vectors=50).correlations) == 8
    assert isinstance(dialed(ranker).spectrum, Spectrum)
