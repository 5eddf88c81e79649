"""What is measured of a circuit once its heads are known, each by hand or by another library."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import pearsonr

from tests.checkpoints import save
from tests.circuits.test_search import pairs
from whyrank.axioms.pair import MinimalPair
from whyrank.axioms.realise import realise_for_patching
from whyrank.circuits.attention_tests import AttentionTests, Text, idf_against_matching, texts_of
from whyrank.circuits.counting import count_not_flag, length, saturation, term_rows
from whyrank.circuits.faithfulness import faithfulness
from whyrank.circuits.head import Head, all_heads
from whyrank.circuits.reading import Reading
from whyrank.circuits.senders import block_senders, matching_to_scoring, senders_by_token
from whyrank.interventions.api import patch
from whyrank.rankers.load import load
from whyrank.text.tokens import Tokens

TEXTS = [
    Text("q1", "red cat", "the dog sat on a mat"),
    Text("q1", "red cat", "people live in berlin"),
    Text("q2", "how many people", "the cat runs fast"),
    Text("q3", "blue tree house", "a red tree"),
]


@pytest.fixture(scope="module")
def ranker(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ce")
    return load(str(save(folder, head="AutoModelForSequenceClassification")), kind="cross-encoder")


@pytest.fixture
def idf(ranker):
    values = np.random.default_rng(0).uniform(1, 9, 97)
    values[ranker.pieces.tokenizer.token_to_id("cat")] = np.nan
    return values


def test_r_of_every_head_by_loops_and_scipy(ranker, idf):
    tests = AttentionTests.on(ranker, TEXTS, idf)
    found = tests.correlations()["pooled"]
    rows = ranker.encoder.word_embeddings.detach()
    for number, (layer, head) in enumerate(all_heads(ranker.encoder)):
        scoring, contexts, matching = [], [], []
        for one in TEXTS:
            reading = Reading.of(ranker, one.query, one.text)
            pattern, ids = reading.attention[layer, head].numpy(), reading.tokens.ids
            for j in reading.query:
                if not np.isnan(idf[ids[j]]):
                    others = [pattern[i, j] for i in reading.query if i != j]
                    scoring.append((idf[ids[j]], pattern[0, j]))
                    contexts.append((idf[ids[j]], sum(others) / len(others)))
                for k in reading.document:
                    cosine = torch.cosine_similarity(rows[ids[j]], rows[ids[k]], dim=0)
                    matching.append((float(cosine), pattern[j, k]))
        for name, points in (("scoring", scoring), ("contextualization", contexts), ("matching", matching)):
            one = found[name][number]
            assert one.r == pytest.approx(pearsonr(*zip(*points, strict=True)).statistic, abs=1e-5)
            assert one.n == len(points) and one.clusters == 3


def test_what_cls_reads_by_idf(ranker, idf):
    tests, head = AttentionTests.on(ranker, TEXTS, idf), Head(1, 2)
    points = []
    for one in TEXTS:
        reading = Reading.of(ranker, one.query, one.text)
        points += [(idf[reading.tokens.ids[i]], float(reading.attention[1, 2, 0, i])) for i in reading.query]
    points = sorted(point for point in points if not np.isnan(point[0]))
    found = tests.by_idf(head, steps=2)
    half = -(-len(points) // 2)
    assert [one.attention.pairs for one in found] == [half, len(points) - half]
    assert found[0].attention.value == pytest.approx(np.mean([y for _, y in points[:half]]), abs=1e-6)
    assert found[1].idf == pytest.approx(np.mean([x for x, _ in points[half:]]), abs=1e-6)


def test_r_within_texts_is_blind_to_differences_between_them(ranker, idf):
    tests = AttentionTests(ranker, idf)
    heads = len(all_heads(ranker.encoder))
    for cluster, (x, y) in enumerate([([0, 1, 2], [5, 6, 7]), ([10, 11, 12], [3, 2, 1])]):
        tests._add("scoring", str(cluster), np.array(x, float), np.tile(np.array(y, float), (heads, 1)))
    assert tests.correlations()["within"]["scoring"][0].r == pytest.approx(0.0, abs=1e-9)
    assert tests.correlations()["pooled"]["scoring"][0].r < -0.8


def test_texts_are_read_with_the_change(ranker):
    long = MinimalPair("p", "red cat", "the dog sat on a mat " * 6 + "a", "the dog sat on a mat " * 6 + "cat",
                       axiom="TFC1", term="cat", qid="q")  # fmt: skip
    again = MinimalPair("p2", "red cat", long.baseline, long.perturbed, axiom="STMC1", term="cat", qid="q")
    (text,) = texts_of(ranker, [long, again])
    reading = Reading.of(ranker, text.query, text.text)
    cat = ranker.pieces.tokenizer.token_to_id("cat")
    assert len(reading.tokens.ids) == 24 and reading.document_ids[-1] == cat


def test_what_is_kept_is_the_gap_of_the_ablated_runs_over_the_gap(ranker):
    some, every = pairs("TFC1"), all_heads(ranker.encoder)
    found = faithfulness(ranker, every[:4], some, kinds=["zero"], randoms=2).kinds["zero"]
    alone = patch(ranker, some, method="ablation", sites="+".join(f"{h.site()}" for h in every[4:])).frame
    noisy = patch(ranker, some, method="ablation", direction="noise",
                  sites="+".join(f"{h.site()}" for h in every[4:])).frame  # fmt: skip
    gap = (noisy["perturbed"] - noisy["base"]).sum()
    kept = (noisy["patched"].to_numpy() - alone["patched"].to_numpy()).sum() / gap
    assert found.only_circuit.kept.value == pytest.approx(kept, abs=1e-5)
    assert found.only_circuit.base == pytest.approx(alone["patched"].mean(), abs=1e-6)
    assert found.only_circuit.random.circuits == 2
    assert found.base == pytest.approx(alone["base"].mean(), abs=1e-6)


def counting_pairs():
    made = []
    for k in (1, 2, 3):
        fillers, terms = ["a"] * 3, ["cat"] * k + ["a"] * (3 - k)
        base, pert = "the dog sat ", "the dog sat "
        slot = {"baseline": [], "perturbed": []}
        for filler, term in zip(fillers, terms, strict=True):
            slot["baseline"].append((len(base), len(base) + len(filler)))
            slot["perturbed"].append((len(pert), len(pert) + len(term)))
            base, pert = base + filler + " ", pert + term + " "
        made.append(MinimalPair(f"k{k}", "red cat", base, pert, axiom="TFC2", variant="cumulative", k=k, qid="q",
                                term="cat", slot=slot))  # fmt: skip
    return made


def test_attention_to_occurrences_by_loops(ranker):
    heads = [Head(0, 1), Head(2, 3)]
    found = saturation(ranker, heads, counting_pairs())
    for point, pair in zip(found.injected["L2.H3"].points, counting_pairs(), strict=True):
        realised = realise_for_patching(pair, ranker)
        reading = Reading.of(ranker, *realised.texts.perturbed)
        (row,) = [i for i in reading.query if reading.tokens.ids[i] == ranker.pieces.tokenizer.token_to_id("cat")]
        columns = [i for i, name in enumerate(realised.names) if name == "inj"]
        assert len(columns) == pair.k == point.k
        assert point.mean.value == pytest.approx(
            float(sum(reading.attention[2, 3, row, i] for i in columns)), abs=1e-6
        )
    control = found.other_tokens["matching heads"].points
    assert [point.k for point in control] == [1, 2, 3]


def test_rows_of_all_query_tokens_and_a_control_without_any(ranker):
    """The document has a word of the query beside the injected one: it is no control."""
    told = []
    for pair in counting_pairs():
        texts = [text.replace("dog", "red") for text in (pair.baseline, pair.perturbed)]
        told.append(replace(pair, baseline=texts[0], perturbed=texts[1]))
    found = saturation(ranker, [Head(1, 1)], told)
    id_of = ranker.pieces.tokenizer.token_to_id
    for i, pair in enumerate(told):
        realised = realise_for_patching(pair, ranker)
        reading = Reading.of(ranker, *realised.texts.perturbed)
        pattern, ids = reading.attention[1, 1], reading.tokens.ids
        (cat,) = [i for i in reading.query if ids[i] == id_of("cat")]
        (red,) = [i for i in reading.query if ids[i] == id_of("red")]
        injected = [j for j in reading.document if ids[j] == id_of("cat")]
        control = [j for j in reading.document if ids[j] in (id_of("the"), id_of("sat"))]
        for rows, curves in (([cat], found), ([red], found.unselected), ([cat, red], found.every)):
            for columns, by_group in ((injected, curves.injected), (control, curves.other_tokens)):
                expected = np.mean([float(pattern[row, columns].sum()) for row in rows])
                assert by_group["L1.H1"].points[i].mean.value == pytest.approx(expected, abs=1e-6)


def test_the_terms_place_in_the_query(ranker):
    tokens = Tokens([1, 9, 10, 2, 9, 2], [0] * 6, ["special", "query", "query", "special", "document", "special"],
                    [None] * 6, [None] * 6)  # fmt: skip
    reading = Reading(tokens, torch.zeros(1, 1, 6, 6))
    assert term_rows(ranker, reading, "cat") == [1] and term_rows(ranker, reading, "tree") == []


def test_matching_heads_alone_are_patched_together(ranker):
    heads = [Head(0, 1), Head(1, 2)]
    found = count_not_flag(ranker, heads, counting_pairs())
    expected = patch(ranker, counting_pairs(), sites="0.1+1.2").frame
    points = found["matching heads"].points
    assert [point.mean.value for point in points] == pytest.approx(list(expected["effect"]), abs=1e-6)
    gaps = [point.mean.value for point in found["whole gap"].points]
    assert gaps == pytest.approx(list(expected["perturbed"] - expected["base"]), abs=1e-6)


def test_length_is_told_as_sum_and_mean(ranker):
    pair = MinimalPair("l", "red cat", "the dog sat", "the dog sat people live in berlin", axiom="LNC1",
                       aligned=False, prefer="baseline", k=1, qid="q")  # fmt: skip
    found = length(ranker, [Head(1, 1)], [pair])
    before, after = (Reading.of(ranker, pair.query, text) for text in (pair.baseline, pair.perturbed))
    sums = [float(one.block(one.query, one.document)[1, 1].sum(-1).mean()) for one in (before, after)]
    assert found.sum["L1.H1"].points[0].mean.value == pytest.approx(sums[1] - sums[0], abs=1e-6)
    assert found.mean_over_tokens["L1.H1"].points[0].mean.value == pytest.approx(
        sums[1] / 7 - sums[0] / 3, abs=1e-6
    )


def test_length_skips_a_pair_without_a_document_token(ranker, monkeypatch):
    pair = MinimalPair("l", "red cat", "the dog sat", "the dog sat people live", axiom="LNC1", aligned=False,
                       prefer="baseline", k=1, qid="q")  # fmt: skip
    monkeypatch.setattr(Reading, "document", property(lambda self: []))
    assert length(ranker, [Head(1, 1)], [pair]) is None


def test_u0_against_the_summed_matching_score(ranker):
    u0, heads = np.random.default_rng(1).normal(size=97), [Head(0, 2), Head(1, 3)]
    points = []
    for one in TEXTS:
        reading = Reading.of(ranker, one.query, one.text)
        for i in reading.query:
            score = sum(float(reading.attention[h.layer, h.head, i, j]) for h in heads for j in reading.document)
            points.append((u0[reading.tokens.ids[i]], score))
    found = idf_against_matching(ranker, heads, TEXTS, u0)
    assert found.value == pytest.approx(pearsonr(*zip(*points, strict=True)).statistic, abs=1e-5)
    assert found.pairs == len(points) and found.queries == 3


def test_matching_heads_send_together(ranker):
    found = matching_to_scoring(ranker, [Head(0, 1), Head(1, 2), Head(2, 0)], [Head(2, 1)], pairs("TFC1"))
    assert found.senders == ("L0.H1", "L1.H2"), "only heads below the scoring heads send"
    rows = patch(ranker, pairs("TFC1"), method="path", sites="0.1+1.2", to="L2.H1.q").frame
    assert found.q.share.value == pytest.approx(rows["effect"].sum() / (rows["perturbed"] - rows["base"]).sum())


def test_blocks_send_into_each_head(ranker):
    found = block_senders(ranker, [Head(1, 2)], pairs("TFC1"))
    sites = [one.site for one in found["L1.H2"]]
    assert sites == ["L0.resid", "L0.attn", "L0.mlp", "L1.resid"]
    rows = patch(ranker, pairs("TFC1"), method="path", sites="L1.resid", to="L1.H2.q,L1.H2.k,L1.H2.v").frame
    share = rows["effect"].sum() / (rows["perturbed"] - rows["base"]).sum()
    assert found["L1.H2"][3].share.value == pytest.approx(share, abs=1e-5)


def test_blocks_send_at_the_tokens_of_a_kind(ranker):
    """Against `patch`; and the kinds of tokens of the stream at a layer cover it."""
    some, roles = (
        pairs("TFC1"),
        {"scoring": [Head(2, 1)], "matching": [Head(0, 1), Head(1, 2)], "other": [Head(2, 3)]},
    )
    found = senders_by_token(ranker, roles, some)
    assert list(found) == ["logits", "scoring", "matching"]
    to = "L0.H1.q,L0.H1.k,L0.H1.v,L1.H2.q,L1.H2.k,L1.H2.v"
    for site in ("L1.resid@inj", "L0.mlp@query"):
        rows = patch(ranker, some, method="path", sites=site, to=to).frame
        share = rows["effect"].sum() / (rows["perturbed"] - rows["base"]).sum()
        (own,) = [one for one in found["matching"] if one.site == site]
        assert own.share.value == pytest.approx(share, abs=1e-5) and own.category == site.split("@")[1]
    assert not [one for one in found["matching"] if one.layer > 1 or one.whole in ("L1.attn", "L1.mlp")]
    changed = {
        one.category for one in found["scoring"] if one.whole == "L0.resid" and abs(one.mean_effect.value) > 1e-5
    }
    assert changed == {"inj"}, "at the embeddings both sides differ in the injected word only"
    assert {one.category for one in found["logits"] if abs(one.mean_effect.value) > 1e-5} == {"cls"}
