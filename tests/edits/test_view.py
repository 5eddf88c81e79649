"""A view: the scores of an applied edit where it is read, no weight changed, the same from several threads."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from tests.checkpoints import save
from tests.edits.dialed import PAIRS, cross_encoder, dialed, idf_file, token
from tests.plain_hooks import hooked
from tests.tiny import ARCHITECTURES
from whyrank.core.errors import UserError
from whyrank.edits.edit import Edit
from whyrank.edits.rows import applied
from whyrank.edits.view import per_query
from whyrank.rankers.load import load

EDIT = Edit.of(up=["cat=3"], down=["people=2"])
SEP = "[SEP]"


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bert")
    ranker = cross_encoder(folder / "ranker")
    return ranker, str(idf_file(ranker, folder / "idf.tsv"))


def weights(ranker):
    return {name: value.clone() for name, value in ranker.model.state_dict().items()}


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_on_both_sides_it_scores_as_the_applied_edit_and_changes_no_weight(tmp_path, architecture):
    ranker = cross_encoder(tmp_path / "ranker", architecture)
    idf = str(idf_file(ranker, tmp_path / "idf.tsv"))
    before, scores = weights(ranker), ranker.score(PAIRS)
    view = EDIT.view(ranker, side="both", idf=idf)
    seen = view.score(PAIRS)
    assert (ranker.score(PAIRS) == scores).all() and np.abs(seen - scores).max() > 1e-4
    with applied(ranker, dialed(ranker).change(EDIT)):
        np.testing.assert_allclose(seen, ranker.score(PAIRS), atol=1e-5)
    assert all(torch.equal(value, before[name]) for name, value in ranker.model.state_dict().items())
    assert view.encoder.word_embeddings.data_ptr() == ranker.encoder.word_embeddings.data_ptr(), (
        "no copy of weights"
    )
    assert view.fingerprint() != ranker.fingerprint()


@pytest.mark.parametrize("architecture", ["bert", "roberta", "mpnet", "distilbert", "modernbert"])
@pytest.mark.parametrize("side", ["query", "document"])
def test_on_one_side_of_a_cross_encoder_it_is_a_hook_on_that_sides_tokens(tmp_path, architecture, side):
    ranker = cross_encoder(tmp_path / "ranker", architecture)
    idf = str(idf_file(ranker, tmp_path / "idf.tsv"))
    change = dialed(ranker).change(EDIT)
    seen = EDIT.view(ranker, side=side, idf=idf).score(PAIRS)
    for (query, text), score in zip(PAIRS, seen, strict=True):
        encoded = ranker.pieces.tokenizer.encode(query, text)
        wanted = 0 if side == "query" else 1
        places = [i for i, sequence in enumerate(encoded.sequence_ids) if sequence == wanted]

        def turn(x, encoded=encoded, places=places):
            for i in places:
                if encoded.ids[i] in change.tokens:
                    x[:, i] += change.rows[change.tokens.index(encoded.ids[i])].float()
            return x

        with hooked(ranker.encoder.anatomy.word_embeddings, slice(None), turn, before=False):
            assert float(ranker.score([(query, text)])[0]) == pytest.approx(score, abs=1e-5)


@pytest.mark.parametrize("side", ["query", "document"])
def test_on_one_side_of_a_bi_encoder_only_that_side_is_encoded_anew(tmp_path, side):
    ranker = load(str(save(tmp_path / "bi")), pooling="mean", normalise=True)
    idf = str(idf_file(ranker, tmp_path / "idf.tsv"))
    view = EDIT.view(ranker, side=side, idf=idf)
    queries, documents = map(list, zip(*PAIRS, strict=True))
    plain = ranker.encode(queries, "query")[0], ranker.encode(documents, "document")[0]
    with applied(ranker, dialed(ranker).change(EDIT)):
        edited = ranker.encode(queries, "query")[0], ranker.encode(documents, "document")[0]
    q, d = (edited[0], plain[1]) if side == "query" else (plain[0], edited[1])
    wanted = [float(a @ b) for a, b in zip(q, d, strict=True)]
    np.testing.assert_allclose(view.score(PAIRS), wanted, atol=1e-5)
    assert view.fingerprint() not in (ranker.fingerprint(), EDIT.view(ranker, side="both", idf=idf).fingerprint())
    with pytest.raises(UserError, match="a view of one side is not opened"):
        view.trace(PAIRS[:1])


@pytest.mark.parametrize("kind", ["cross-encoder", "bi-encoder"])
def test_threads_get_the_scores_of_one_thread_whatever_others_do(tmp_path, kind):
    if kind == "cross-encoder":
        ranker = cross_encoder(tmp_path / "ranker")
    else:
        ranker = load(str(save(tmp_path / "ranker")), pooling="cls")
    idf = str(idf_file(ranker, tmp_path / "idf.tsv"))
    views = [Edit.parse(text).view(ranker, side="query", idf=idf) for text in ("up cat=3", "down people=4")]
    pairs = [pair for pair in PAIRS for _ in range(5)]
    alone = [view.score(pairs) for view in views]
    before = weights(ranker)

    def work(i):
        view = views[i % 2]
        view.document_tokens("cat", "the cat sat")  # sets another truncation
        return np.abs(view.score(pairs) - alone[i % 2]).max()

    with ThreadPoolExecutor(6) as pool:
        assert max(pool.map(work, range(60))) < 1e-6
    assert all(torch.equal(value, before[name]) for name, value in ranker.model.state_dict().items())


def test_each_query_has_its_own_edit_and_the_others_none(bert):
    ranker, idf = bert
    edits = {"cat": Edit.parse("up cat=3"), "fast dog": Edit.parse("down dog=2")}
    found = per_query(ranker, edits, idf=idf)
    scores = found.score(PAIRS)
    for pair, score in zip(PAIRS, scores, strict=True):
        one = edits[pair[0]].view(ranker, idf=idf) if pair[0] in edits else ranker
        assert score == pytest.approx(float(one.score([pair])[0]), abs=1e-6)
    assert (np.abs(scores - ranker.score(PAIRS)) > 1e-5).tolist() == [False, False, True, True]
    assert found.rank("cat", ["dog", "cat"])[0].text in ("dog", "cat")
    values, _ = found.long_scorer()(PAIRS, None)
    np.testing.assert_allclose(values, scores, atol=1e-6)


def test_what_it_refuses(bert):
    ranker, idf = bert
    with pytest.raises(UserError, match="unknown side 'left'; choose query, document or both"):
        EDIT.view(ranker, side="left", idf=idf)
    assert token(ranker, "cat") in dialed(ranker).change(EDIT).tokens
