"""The two-token experiment against plain edits, one at a time."""

import json
from itertools import product

import numpy as np
import pytest
import torch
import transformers
from torch.nn.functional import cosine_similarity

from tests.checkpoints import save
from tests.edits.dialed import cross_encoder, dialed, token
from whyrank.core.errors import UserError
from whyrank.edits.controls import controls
from whyrank.edits.edit import Edit
from whyrank.edits.rows import applied
from whyrank.edits.two_tokens import WordPair, experiment, two_token_queries
from whyrank.rankers.load import load

SCALES = (0.0, 3.0)
QUERIES = {
    "q1": "cat mat",
    "q2": "people berlin",
    "q3": "fast cat",
    "q6": "how many people live in berlin",
    "q7": "the cat",
    "q8": "zebra cat dog",
}


@pytest.fixture(scope="module")
def ranker(tmp_path_factory):
    return cross_encoder(tmp_path_factory.mktemp("ranker"))


def test_each_query_with_two_known_content_words_gives_both_orders(ranker):
    found = two_token_queries(ranker.pieces.tokenizer, {key: QUERIES[key] for key in ("q1", "q6", "q7", "q8")})
    assert [(one.qid, one.tok1, one.tok2) for one in found] == [
        ("q1", "cat", "mat"), ("q1", "mat", "cat"), ("q6", "people", "live"), ("q6", "live", "people"),
        ("q8", "cat", "dog"), ("q8", "dog", "cat"),
    ]  # fmt: skip
    assert found[0].pairs == (("cat mat", "cat cat cat"), ("cat mat", "mat mat mat"))


def one_at_a_time(ranker, dial, direction, scale, item):
    with applied(ranker, dial.change(Edit.of(**{direction: [f"{item.tok1}={scale}"]}))):
        return [float(ranker.score([pair])[0]) for pair in item.pairs]


@pytest.mark.parametrize("kind", ["cross-encoder", "bi-encoder"])
def test_the_curves_are_those_of_plain_edits(ranker, tmp_path, kind):
    if kind == "bi-encoder":  # a word that is edited stands in the prefix of every document
        ranker = load(str(save(tmp_path)), pooling="mean", document_prefix="cat ")
    dial = dialed(ranker)
    result = experiment(dial, QUERIES, scales=SCALES, randoms=3)
    items = two_token_queries(ranker.pieces.tokenizer, QUERIES)
    assert result.items == len(items) == 10 and result.queries == 5
    own = [float(ranker.score([item.pairs[0]])[0]) for item in items]
    for row in result.curves:
        if row.control != "U0":
            mine = next(r for r in result.curves if r.control == "U0" and r.direction == row.direction
                        and r.scale == row.scale)  # fmt: skip
            assert row.edit_less.value == pytest.approx(mine.doc1.value - row.doc1.value, abs=1e-6)
            continue
        assert row.edit_less is None
        scores = [one_at_a_time(ranker, dial, row.direction, row.scale, item) for item in items]
        doc1, doc2 = np.array(scores).T
        assert row.doc1.value == pytest.approx(np.mean(doc1 - own), abs=1e-5)
        assert row.doc2.value == pytest.approx(np.mean(doc2 - own), abs=1e-5)
        assert row.doc1_above.value == np.mean(doc1 > doc2)
        assert row.doc1.no_interval == "too few queries" and row.attention is None
        if row.scale == 0:
            assert row.doc1.value == pytest.approx(0, abs=1e-6)
        else:
            assert abs(row.doc1.value) > 1e-4
    json.dumps(result.to_json(), allow_nan=False)


@pytest.mark.parametrize("rule", ["sd", "paper"])
def test_slopes_are_those_of_least_squares_through_0_and_randoms_are_averaged(ranker, rule):
    dial, scales = dialed(ranker), (1.0, 2.0, 4.0)
    result = experiment(dial, QUERIES, scales=scales, rule=rule, randoms=4)
    items = two_token_queries(ranker.pieces.tokenizer, QUERIES)
    own = np.array([float(ranker.score([item.pairs[0]])[0]) for item in items])
    x = np.array(scales) - (rule == "paper")
    named = controls(dial, 0, 4)
    for direction in ("up", "down"):
        slopes = {}
        for name, control in named.items():
            y = np.zeros((len(scales), len(items)))
            for (i, scale), (j, item) in product(enumerate(scales), enumerate(items)):
                edit = Edit.of(**{direction: [f"{item.tok1}={scale}"]}, rule=rule)
                with applied(ranker, control(dial.turns(edit))):
                    y[i, j] = float(ranker.score([item.pairs[0]])[0]) - own[j]
            slopes[name] = np.linalg.lstsq(x[:, None], y, rcond=None)[0][0]
        found = result.slope(direction)
        randoms = [slopes[f"random {i}"].mean() for i in (1, 2, 3, 4)]
        assert found.edit.value == pytest.approx(slopes["U0"].mean(), abs=1e-5)
        assert found.randoms.mean.value == pytest.approx(np.mean(randoms), abs=1e-5)
        assert [found.randoms.least, found.randoms.most] == pytest.approx([min(randoms), max(randoms)], abs=1e-5)
        assert found.randoms.edit_less.value == pytest.approx(slopes["U0"].mean() - np.mean(randoms), abs=1e-5)
        assert set(found.others) == {"U1", "U2", "row"}
        for name, one in found.others.items():
            assert one.value == pytest.approx((slopes["U0"] - slopes[name]).mean(), abs=1e-5)
        assert found.verdict == "cannot tell", "five queries decide nothing"


def test_every_control_moves_each_row_as_far_as_the_edit(ranker):
    dial = dialed(ranker)
    turns = dial.turns(Edit.of(up=["cat=7"], down=["dog=3"]))
    named = controls(dial, seed=4, drawn=3)
    assert list(named) == ["U0", "U1", "U2", "random 1", "random 2", "random 3", "row"]
    norms = named["U0"](turns).norms
    rows = ranker.encoder.word_embeddings.detach().double()[[token(ranker, "cat"), token(ranker, "dog")]]
    v = np.linalg.svd(ranker.encoder.word_embeddings.detach().double().numpy(), full_matrices=False)[2]
    for name, control in named.items():
        change = control(turns)
        if name != "row":
            torch.testing.assert_close(change.norms, norms)
        cosines = {f"U{i}": abs(change.rows.numpy() @ v[i]) / norms.numpy() for i in range(3)}
        if name in cosines:
            np.testing.assert_allclose(cosines[name], 1)
    along = cosine_similarity(named["row"](turns).rows, rows, dim=1)
    np.testing.assert_allclose(along, [1, -1])  # up: longer; down: shorter
    torch.testing.assert_close(named["row"](turns).norms[0], norms[0])
    far = named["row"](dial.turns(Edit.of(up=["cat=x200"], down=["dog=x200"])))
    left = (rows + far.rows).norm(dim=1) / rows.norm(dim=1)
    assert left[0] > 1 > left[1] > 0, "a row that is scaled down is never turned round"
    np.testing.assert_allclose(cosine_similarity(rows + far.rows, rows, dim=1), [1, 1])
    drawn = [named[f"random {i}"](turns).rows for i in (1, 2, 3)]
    assert not torch.allclose(drawn[0], drawn[1])
    torch.testing.assert_close(controls(dial, seed=4)["random 2"](turns).rows, drawn[1])


def test_attention_is_the_models_own(ranker, tmp_path):
    dial = dialed(ranker)
    result = experiment(dial, {"q1": "cat mat"}, scales=(1.0, 25.0), head="1.2", randoms=2)
    assert result.head == "1.2"
    model = transformers.AutoModelForSequenceClassification.from_pretrained(
        ranker.checkpoint.folder, attn_implementation="eager"
    ).eval()
    with torch.no_grad():
        matrix = model.get_input_embeddings().weight
        looks = []
        for word in ("cat", "mat"):
            kept = matrix.clone()
            change = dial.change(Edit.of(down=[f"{word}=25"]))
            matrix[list(change.tokens)] += change.rows.float()
            ids = ranker.pieces.pairs([("cat mat", " ".join([word] * 3))])[0]
            inputs = {"input_ids": torch.tensor([ids.ids]), "token_type_ids": torch.tensor([ids.type_ids])}
            attention = model(**inputs, output_attentions=True).attentions
            looks.append(float(attention[1][0, 2, 0, 1 + ("cat", "mat").index(word)]))
            matrix.copy_(kept)
    (row,) = [r for r in result.curves if (r.control, r.direction, r.scale) == ("U0", "down", 25.0)]
    assert row.attention.value == pytest.approx(np.mean(looks), abs=1e-5)
    assert all(r.attention is None for r in result.curves if r.control != "U0")


def test_work_that_was_stopped_goes_on(ranker, tmp_path, monkeypatch):
    dial = dialed(ranker)
    whole = experiment(dial, QUERIES, scales=SCALES, randoms=2)
    plain, calls = ranker.score, []

    def failing(pairs, progress=None):
        calls.append(len(pairs))
        if len(calls) == 12:
            raise KeyboardInterrupt
        return plain(pairs)

    monkeypatch.setattr(ranker, "score", failing)
    with pytest.raises(KeyboardInterrupt):
        experiment(dial, QUERIES, scales=SCALES, randoms=2, shards=tmp_path)
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.json")}
    assert kept
    again = experiment(dial, QUERIES, scales=SCALES, randoms=2, shards=tmp_path)
    assert again == whole
    assert all(path.stat().st_mtime_ns == when for path, when in kept.items()), "what was done is not done again"


def test_what_it_refuses(ranker, tmp_path):
    with pytest.raises(UserError, match="no query has two content words"):
        experiment(dialed(ranker), {"q": "the cat"})
    with pytest.raises(UserError, match="layers are 0 to 2"):
        experiment(dialed(ranker), QUERIES, head="7.1")
    with pytest.raises(UserError, match="is not a head"):
        experiment(dialed(ranker), QUERIES, head="L1.mlp")
    other = load(str(save(tmp_path)), pooling="cls")
    with pytest.raises(UserError, match="not a cross-encoder"):
        experiment(dialed(other), QUERIES, head="1.1")
    assert WordPair("q", "cat mat", "cat", "mat").pairs[1][1] == "mat mat mat"
