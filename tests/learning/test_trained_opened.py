"""Saved models of every kind, audited and patched: nothing is claimed to be read that is not."""

import numpy as np
import pytest

from tests.checkpoints import save
from tests.learning.small import DOCUMENTS, QRELS, QUERIES
from tests.learning.tiny_networks import backbone_of
from whyrank.audit.api import audit
from whyrank.audit.scoring import audit_pairs
from whyrank.axioms.api import make_pairs
from whyrank.axioms.make import Choices
from whyrank.axioms.pair import MinimalPair
from whyrank.collections.collection import Collection
from whyrank.core.errors import UserError
from whyrank.interventions.api import patch
from whyrank.learning.models.catalogue import MODELS, model_class
from whyrank.learning.models.network import Ingredients, TransformerNetwork
from whyrank.learning.saved import save_trained
from whyrank.rankers.load import load
from whyrank.rankers.neural import NeuralRanker

#: Documents of about 60 words, more than any model here reads at once.
LONG = Collection.from_records(
    "long",
    {docno: " ".join([text, "the cat sat on a red mat"] * 6) for docno, text in DOCUMENTS.items()},
    QUERIES,
    QRELS,
)
#: Passages that no sequence of 24 tokens holds, and passages that one does.
VARIANTS = [
    *((name, {}) for name in MODELS),
    ("bert-maxp", {"passage": 6, "stride": 3}),
    ("parade", {"passage": 6, "overlap": 2, "chunks": 4}),
    ("bert-maxp", {"passage": 13, "stride": 13, "chunks": 1}),
    ("drmm", {"max_length": 30}),
    ("conv-knrm", {"max_length": 30}),
]
FEW = Choices(documents=4, depth=4)


def saved(folder, name, **settings):
    backbone, kind = backbone_of(save(folder / "backbone")), model_class(name)
    length = {"max_length": 24} if issubclass(kind, TransformerNetwork) else {}
    made = kind.of(kind.Settings(**length, **settings), Ingredients(backbone, LONG))
    return str(save_trained(made, backbone, folder / "saved", {}))


@pytest.mark.parametrize(("name", "settings"), VARIANTS, ids=str)
def test_a_saved_model_is_audited_on_what_it_reads(tmp_path, name, settings):
    ranker = load(saved(tmp_path, name, **settings))
    found = audit(ranker, LONG, "TFC1,TFC2,LNC2", documents=4, depth=4)
    assert len(found.rows) >= 4
    texts = [(row.query, text) for row in found.rows for text in (row.baseline_text, row.perturbed_text)]
    assert ranker.scores(texts).cut == 0
    assert len({row.difference for row in found.rows}) > 1, "and the change is seen"


@pytest.mark.parametrize(("name", "settings"), VARIANTS, ids=str)
def test_a_saved_model_is_patched_where_it_reads_one_sequence(tmp_path, name, settings):
    folder = saved(tmp_path, name, **settings)
    if not isinstance(load(folder), NeuralRanker):
        with pytest.raises(UserError, match="cannot be opened"):
            patch(load(folder), [MinimalPair("1", "cat", "a", "cat", term="cat")])
        return
    ranker = load(folder, max_length=24)
    pairs = make_pairs("TFC1", LONG, [ranker], FEW).pairs
    effects = patch(ranker, pairs, sites="embed").frame
    gaps = ranker.score([(one.query, one.perturbed) for one in pairs]) - ranker.score(
        [(one.query, one.baseline) for one in pairs]
    )
    np.testing.assert_allclose(effects["effect"], gaps, atol=1e-5)
    assert np.abs(gaps).max() > 1e-4 and len(effects) == len(pairs)


def test_passages_too_long_to_fit_are_one_sequence_and_can_be_opened_as_they_are(tmp_path):
    ranker = load(saved(tmp_path, "bert-maxp"))
    assert ranker.document_length == 24
    assert len(patch(ranker, make_pairs("TFC1", LONG, [ranker], FEW).pairs)) > 0


def test_a_pair_that_is_not_all_read_is_dropped_with_the_reason(tmp_path):
    """A query longer than its room, and a passage of one word of 29 tokens; neither stops an audit or a patch."""
    ranker = load(saved(tmp_path, "bert-maxp", passage=6, stride=3))
    assert ranker.document_length == 51
    grown = ",".join(["cat"] * 15)
    pairs = [
        MinimalPair("good", "cat", "the dog a", "the dog cat", term="cat"),
        MinimalPair(
            "query", "how many people live in berlin or the red house", "a dog a", "a dog people", term="people"
        ),
        MinimalPair("word", "cat", f"{grown} a", f"{grown} cat", term="cat"),
    ]
    found = audit_pairs([ranker], pairs)
    assert found.rankers[0].dropped == {"the model does not read all of it": 2} and len(found.rows) == 1
    effects = patch(ranker, pairs, skip=True)
    assert effects.dropped == {"the model does not read all of it": 2} and set(effects.frame["pair"]) == {"good"}
    with pytest.raises(UserError, match=r"pair 'query' cannot be patched.*does not read all of it"):
        patch(ranker, pairs)
    with pytest.raises(UserError, match=r"a document that is cut cannot be opened.*max_length=24"):
        ranker.trace([("cat", grown)])
    assert ranker.scores([("cat", grown)]).cut == 1
