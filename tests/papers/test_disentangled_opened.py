"""Relations, attention, word graphs, t-SNE, axioms and head maps of the study, by plain loops and by scipy."""

import math
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import transformers

from tests.checkpoints import WORDS
from tests.learning.tiny_networks import backbone_of
from tests.learning.tiny_training import still_backbone
from whyrank.audit.results import Row
from whyrank.interventions.effects import EffectTable
from whyrank.learning.models.dgre import DGRe, DGReSettings
from whyrank.learning.models.network import Ingredients
from whyrank.learning.models.vanilla import VanillaBert, VanillaSettings
from whyrank.papers.disentangled.attention import _shares, summarise_layers
from whyrank.papers.disentangled.audits import axioms_compared
from whyrank.papers.disentangled.embeddings import centroid_cosines, embedded, perplexity, plane, vectors_of
from whyrank.papers.disentangled.figures import heads_figure
from whyrank.papers.disentangled.graph_mass import compare_graphs, graph_shares, shares_compared
from whyrank.papers.disentangled.head_maps import _map, alike, gap_of
from whyrank.papers.disentangled.one_query import MASKS, word_graphs
from whyrank.papers.disentangled.paired import corrected, difference
from whyrank.papers.disentangled.relations import both_ways, near_threshold, read, share_of
from whyrank.papers.disentangled.results import GraphShares, HeadMaps
from whyrank.text.words import ENGLISH_STOPWORDS

PAIRS = {
    "q0": ("how many cat", "the cat sat on the mat , how fast"),
    "q1": ("red dog", "a dog runs . blue tree"),
    "q2": ("people live in berlin", "berlin house people nonsense"),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("disentangled")
    return backbone_of(still_backbone(folder))


@pytest.fixture(scope="module")
def dgre(place):
    torch.manual_seed(0)
    return DGRe.of(DGReSettings(chunks=1, max_length=24), Ingredients(place)).eval()


@pytest.fixture(scope="module")
def embeddings(dgre):
    return dgre.backbone.encoder.word_embeddings.detach()


@pytest.fixture(scope="module")
def readings(dgre, embeddings):
    return [read(dgre, embeddings, qid, pair) for qid, pair in PAIRS.items()]


def words_of(text):
    """The words that the tiny tokenizer knows, at their places in the text."""
    return [(i, word) for i, word in enumerate(text.split()) if word in WORDS]


def test_a_reading_has_the_words_of_both_sides_and_no_punctuation(readings):
    for reading, (query, text) in zip(readings, PAIRS.values(), strict=True):
        length = len(query.split())
        assert reading.query == [1 + i for i, _ in words_of(query)]
        assert reading.document == [2 + length + i for i, _ in words_of(text)]
        same = [[a == b for _, b in words_of(text)] for _, a in words_of(query)]
        assert reading.same.tolist() == same


def test_a_side_without_words_gives_no_reading(dgre, embeddings):
    assert read(dgre, embeddings, "q", ("how many", ", . !")) is None


def test_spurious_is_neither_the_same_word_nor_near(dgre, embeddings, readings):
    ids = dgre.backbone.pieces.tokenizer.token_to_id
    rows = {word: embeddings[ids(word)].double().numpy() for word in WORDS}

    def cosine(a, b):
        return rows[a] @ rows[b] / np.linalg.norm(rows[a]) / np.linalg.norm(rows[b])

    unrelated = []
    for i, (query, _) in enumerate(PAIRS.values()):
        text = list(PAIRS.values())[(i + 1) % 3][1]
        unrelated += [cosine(a, b) for _, a in words_of(query) for _, b in words_of(text) if a != b]
    threshold = near_threshold(readings, share=0.2)
    assert threshold == pytest.approx(np.quantile(unrelated, 0.8), abs=1e-5)
    assert near_threshold(readings) == pytest.approx(np.quantile(unrelated, 0.95), abs=1e-5)
    for reading, (query, text) in zip(readings, PAIRS.values(), strict=True):
        expected = [[a != b and cosine(a, b) < threshold for _, b in words_of(text)] for _, a in words_of(query)]
        assert reading.spurious(threshold).tolist() == expected
    with pytest.raises(ValueError, match="one query only"):
        near_threshold([readings[0], readings[0]])


def test_the_share_of_attention_is_that_of_hugging_faces_own_patterns(dgre, readings, place):
    spurious = [reading.spurious(near_threshold(readings, 0.3)) for reading in readings]
    found = _shares(dgre.backbone.encoder, dgre, readings, spurious, lambda count: None)
    model = transformers.AutoModel.from_pretrained(place.folder, attn_implementation="eager").eval()
    assert found.shape == (3, model.config.num_hidden_layers + 1)
    for row, reading, mask in zip(found, readings, spurious, strict=True):
        inputs = dgre.read([reading.pair]).inputs
        with torch.no_grad():
            layers = model(input_ids=inputs.ids, token_type_ids=inputs.types, output_attentions=True).attentions
        hit = all_mass = 0.0
        for layer, heads in enumerate(layers):
            on = total = 0.0
            for i, q in enumerate(reading.query):
                for j, d in enumerate(reading.document):
                    mass = float((heads[0, :, q, d] + heads[0, :, d, q]).sum())
                    on, total = on + mass * bool(mask[i, j]), total + mass
            assert row[layer] == pytest.approx(on / total, abs=1e-5)
            if layer < len(layers) - 1:
                hit, all_mass = hit + on, all_mass + total
        assert row[-1] == pytest.approx(hit / all_mass, abs=1e-5)


def test_what_words_attend_to_in_berts_top_layer_changes_no_score(place):
    network = VanillaBert.of(VanillaSettings(chunks=1, max_length=24), Ingredients(place)).eval()
    layers = network.backbone.module.encoder.layer
    batch = network.read(list(PAIRS.values()))
    scores = []
    for query in (layers[-1].attention.self.query, layers[0].attention.self.query):
        seen = []

        def words_only(_module, _inputs, output, shift):
            return torch.cat([output[:, :1], output[:, 1:] * shift], dim=1)

        for shift in (1.0, -3.0):
            hook = query.register_forward_hook(lambda m, i, o, s=shift: words_only(m, i, o, s))
            with torch.no_grad():
                seen.append(network.output(batch).scores)
            hook.remove()
        scores.append(seen)
    torch.testing.assert_close(scores[0][0], scores[0][1], atol=1e-6, rtol=0)
    assert not torch.allclose(scores[1][0], scores[1][1], atol=1e-4), "below the top it does"


def test_uniform_attention_has_the_share_of_relations(readings):
    mask = readings[0].spurious(0.0)
    ones = torch.ones(4, 30, 30)
    assert share_of(both_ways(ones, readings[0]), mask) == pytest.approx(float(mask.float().mean()))
    assert math.isnan(share_of(torch.zeros(2, 2), torch.ones(2, 2)))


def test_the_graph_shown_is_the_models_own(dgre):
    for pair in PAIRS.values():
        found = word_graphs(dgre, pair)
        names = found.pieces
        m = found.query
        assert list(names[:m]) == [word for _, word in words_of(pair[0])]
        for mask in MASKS:
            own = dgre.word_graph(dgre.read([pair]), mask)
            rows = [i for i, piece in enumerate(own.query) if piece in WORDS]
            columns = [i for i, piece in enumerate(own.document) if piece in WORDS]
            block = torch.tensor(found.graphs[mask])[:m, m:]
            torch.testing.assert_close(block, own.relations[rows][:, columns], atol=1e-6, rtol=0)
        for i, j in found.exact:
            assert i < m <= j and names[i] == names[j]
        assert len(found.exact) == sum(a == b for a in names[:m] for b in names[m:])
    heuristic = torch.tensor(found.graphs["heuristic"])
    off = ~torch.eye(len(names), dtype=torch.bool)
    assert not heuristic[:m, :m][off[:m, :m]].any() and not heuristic[m:, m:][off[m:, m:]].any()
    assert torch.tensor(found.graphs["none"])[m:, m:].all(), "without a mask all words are related"
    few = word_graphs(dgre, PAIRS["q0"], shown=3)
    assert few.cut and few.pieces == ("how", "many", "cat", "the", "cat", "sat") and few.exact == ((2, 4),)
    late = word_graphs(dgre, ("red tree", "a dog sat on a red tree"), shown=3)
    assert late.pieces[2:] == ("a", "red", "tree") and late.exact == ((0, 3), (1, 4)), "where most words match"


def test_the_share_of_graphs_is_the_mean_over_rows_of_both_sides(dgre, readings):
    threshold = near_threshold(readings, 0.3)
    shares, crossing = graph_shares(dgre, readings, threshold)
    for number, reading in enumerate(readings):
        batch = dgre.read([reading.pair])
        mask_of = {
            (q, d): bool(wrong)
            for q, row in zip(reading.query, reading.spurious(threshold), strict=True)
            for d, wrong in zip(reading.document, row, strict=True)
        }
        names = {place: dgre.backbone.pieces.tokenizer.id_to_token(ids[0]) for place, ids in reading.words.items()}
        content = [place for place in names if names[place] not in ENGLISH_STOPWORDS]
        for name in MASKS:
            by_row, by_content, crossed, heard = [], [], 0.0, 0.0
            for layer in range(dgre.refined_layers):
                with torch.no_grad():
                    state = dgre.backbone(batch.inputs)[-dgre.refined_layers :][layer]
                    scene = dgre.scene(batch)
                    graph = dgre.graphs(layer, state, scene.sides, scene.packing, name).matrix()[0].numpy()
                for mine, others in ((reading.query, reading.document), (reading.document, reading.query)):
                    for i in mine:
                        heard += graph[i].sum()
                        crossed += graph[i, others].sum()
                        for found, words in ((by_row, others), (by_content, [j for j in others if j in content])):
                            total = graph[i, words].sum()
                            if total > 0 and (found is by_row or i in content):
                                wrong = [j for j in words if mask_of.get((i, j), mask_of.get((j, i)))]
                                found.append(graph[i, wrong].sum() / total)
            assert shares["all words"][name][number] == pytest.approx(np.mean(by_row), abs=1e-6)
            if by_content:
                assert shares["content words"][name][number] == pytest.approx(np.mean(by_content), abs=1e-6)
            assert crossing[name][number] == pytest.approx(crossed / heard, abs=1e-6)
    for view in shares.values():
        np.testing.assert_allclose(view["heuristic"], view["none"], atol=1e-6, err_msg="a softmax of the same")
    assert min(crossing["heuristic"]) > max(crossing["none"]), "a mask of the own side moves mass to the other"


def test_relevant_candidates_are_a_view_of_their_own():
    shares = {mask: [0.1 * k, 0.5, 0.9] for k, mask in enumerate(MASKS)}
    found = compare_graphs(
        [({"all words": shares, "content words": shares}, shares)], list("abc"), [True, False, True], 0
    )
    assert found.views["relevant candidates"].readings == 2 and found.views["all words"].readings == 3
    assert found.views["relevant candidates"].means["adaptive"].value == pytest.approx((0.2 + 0.9) / 2)
    for one in found.views.values():
        assert [row.of for row in one.differences] == ["adaptive"], "the heuristic mask is as none there"
    assert [row.of for row in found.crossing.differences] == ["heuristic", "adaptive"]
    many = {mask: [0.1 * k + 0.01 * i for i in range(9)] for k, mask in enumerate(MASKS)}
    tested = compare_graphs([({"all words": many, "content words": many}, many)], list("abcdefghi"), [True] * 9, 0)
    rows = [row for one in (*tested.views.values(), tested.crossing) for row in one.differences]
    assert [row.comparison.p_holm for row in rows] == pytest.approx([5 * 2 / 2**9] * 5), (
        "all signs alike, in five tests"
    )
    nothing = compare_graphs(
        [({"all words": shares, "content words": shares}, shares)], list("abc"), [False] * 3, 0
    )
    assert nothing.views["relevant candidates"] == GraphShares({}, (), 0)


def test_graphs_without_mass_are_left_out():
    seeds = [{"none": [0.5, 0.6, 0.7], "heuristic": [0.4, 0.5, 0.9], "adaptive": [0.1, math.nan, 0.2]}] * 2
    found = shares_compared(seeds, ["a", "b", "c"], 0)
    assert found.readings == 2 and found.means["none"].value == pytest.approx(0.6)
    assert [row.of for row in found.differences] == ["heuristic", "adaptive"]
    assert found.differences[1].comparison.difference.value == pytest.approx((0.1 - 0.5 + 0.2 - 0.7) / 2)
    assert shares_compared([{mask: [math.nan] for mask in MASKS}], ["a"], 0).readings == 0


def signs_by_hand(gaps):
    """Of all 2^n signs the share whose sum is as large as the one seen, one by one."""
    sums = [
        abs(sum(s * g for s, g in zip(signs, gaps, strict=True))) for signs in product((1, -1), repeat=len(gaps))
    ]
    return sum(one >= abs(sum(gaps)) - 1e-9 for one in sums) / len(sums)


def test_shares_are_compared_over_queries():
    generator = np.random.default_rng(1)
    shares = {name: generator.random((14, 3)) for name in ("before training", "bert", "dgre")}
    clusters = list("aabbccddeeffgg")
    found = summarise_layers(shares, [0.9] * 14, clusters)
    assert found.means["uniform"].value == pytest.approx(0.9) and len(found.layers) == 2
    assert found.layers[1]["bert"].value == pytest.approx(shares["bert"][:, 1].mean())
    assert found.top["bert"] == found.layers[1]["bert"] and "uniform" not in found.top
    by_query = {name: one[:, -1].reshape(7, 2).mean(axis=1) for name, one in shares.items()}
    pairs = [("bert", "before training"), ("dgre", "before training"), ("dgre", "bert")]
    expected = [signs_by_hand(by_query[a] - by_query[b]) for a, b in pairs]
    assert [(row.of, row.against) for row in found.differences] == pairs
    assert [row.comparison.p for row in found.differences] == pytest.approx(expected)
    assert min(row.comparison.p_holm for row in found.differences) == pytest.approx(min(1, 3 * min(expected)))


@pytest.mark.parametrize("queries", [2, 3, 5])
def test_few_queries_of_one_sign_are_no_finding(queries):
    names = [f"q{i}" for i in range(queries)]
    assert difference([1.0] * queries, [0.0] * queries, names).p is None
    six = difference([1.0] * 6, [0.0] * 6, list("abcdef"))
    assert six.p == 2 / 2**6 and six.difference.queries == 6


def test_a_difference_of_one_query_has_no_interval_and_no_p():
    (row,) = corrected([difference([0.5, 0.7], [0.1, 0.1], ["a", "a"])])
    assert row.difference.value == pytest.approx(0.5)
    assert row.difference.queries == 1 and row.difference.pairs == 2
    assert row.p is None and row.p_holm is None and row.difference.low is None


def row(ranker, pair, axiom, outcome, qid):
    blank = dict.fromkeys(Row.__dataclass_fields__)
    known = {"ranker": ranker, "pair": pair, "axiom": axiom, "outcome": outcome, "qid": qid, "query": "x"}
    return Row(**{**blank, **known})


def test_axioms_are_compared_over_the_same_pairs_with_seeds_averaged():
    generator = np.random.default_rng(5)
    names = {"bert": ["b0", "b1"], "dgre": ["d0", "d1"]}
    pairs = [(f"p{i}", "TFC1" if i < 14 else "LNC1", f"q{i % 7}") for i in range(22)]
    holds = {
        name: generator.random(22) < (0.8 if name[0] == "d" else 0.4) for group in names.values() for name in group
    }
    rows = {
        name: [row(name, p, a, "holds" if holds[name][i] else "violates", q) for i, (p, a, q) in enumerate(pairs)]
        for name in holds
    }
    rows["d1"] = rows["d1"][:-1]  # one pair did not fit it
    found = {one.axiom: one for one in axioms_compared(rows, names)}
    tfc1, lnc1 = found["TFC1"], found["LNC1"]
    assert tfc1.difference.pairs == 14 and lnc1.difference.pairs == 7, "a pair that one ranker lacks is dropped"
    b, d = (np.mean([holds[name][:14] for name in names[group]], axis=0) for group in ("bert", "dgre"))
    assert tfc1.holds["dgre"].value == pytest.approx(d.mean())
    assert tfc1.difference.value == pytest.approx((d - b).mean())
    by_query = (d - b).reshape(2, 7).mean(axis=0)
    p = signs_by_hand(by_query)
    assert tfc1.comparison.p == pytest.approx(p) and tfc1.queries == 7
    assert tfc1.comparison.p_holm >= p


def effects(shares, gaps):
    """Rows of three heads whose change is a share of each pair's gap."""
    rows = [
        {
            "pair": f"p{i}", "qid": f"q{i}", "method": "activation", "direction": "denoise", "site": f"L0.H{h}.z",
            "layer": 0, "head": h, "base": 0.0, "perturbed": gap, "patched": share * gap, "effect": share * gap,
        }
        for i, gap in enumerate(gaps)
        for h, share in enumerate(shares)
    ]  # fmt: skip
    return EffectTable.of(rows)


def test_maps_are_as_alike_as_their_correlation():
    one, two, other = [0.1, 0.5, 0.9, 0.2], [0.2, 0.4, 0.8, 0.3], [0.9, 0.1, 0.2, 0.4]
    gaps = [1.0, 2.0, 0.5, 1.0, 2.0, 0.5]
    found = {"bert": [effects(one, gaps), effects(two, gaps)], "dgre": [effects(other, gaps)]}
    by_groups = {(row.one, row.other): row for row in alike(found)}
    assert by_groups["bert", "bert"].mean == pytest.approx(np.corrcoef(one, two)[0, 1])
    across = [np.corrcoef(one, other)[0, 1], np.corrcoef(two, other)[0, 1]]
    assert by_groups["bert", "dgre"].mean == pytest.approx(np.mean(across))
    assert (
        by_groups["bert", "dgre"].least == pytest.approx(min(across)) and len(by_groups["bert", "dgre"].each) == 2
    )
    assert ("dgre", "dgre") not in by_groups, "one seed has no other to be like"
    gap = gap_of(found["bert"][0])
    assert gap.value == pytest.approx(3.5 / 3) and 0.3 < gap.low < 1 and gap.high <= 2.0


def test_a_seed_without_a_gap_has_no_part_in_the_mean_share():
    sure = effects([0.1, 0.5, 0.9], [1.0, 2.0, 0.5, 1.5, 1.0, 2.0])
    other = effects([0.3, 0.1, 0.5], [2.0, 1.0, 1.0, 0.5, 1.0, 1.0])
    noisy = effects([40.0, -30.0, 9.0], [1.0, -1.0, 0.5, -0.49, 1.0, -1.0])
    found = _map(["a", "b", "c"], [sure, noisy, other], 0)
    assert [gap.is_above_zero for gap in found.gaps] == [True, False, True]
    assert [head.share.value for head in found.heads] == pytest.approx([0.2, 0.3, 0.7])
    assert found.heads[0].by_seed == pytest.approx([0.1, 40.0, 0.3]) and found.heads[0].of == 2
    nothing = _map(["dgre"], [noisy], 0)
    assert all(head.share.value is None and head.of == 0 for head in nothing.heads)
    maps = HeadMaps("TFC1:append", 6, None, None, {"bert": found, "dgre": nothing}, ())
    svg, _, (_, rows) = heads_figure(maps)
    assert svg.lstrip().startswith("<") and len(rows) == 6
    assert "<svg" in heads_figure(replace(maps, maps={"dgre": nothing}))[0]


def test_t_sne_is_the_same_each_time_and_its_perplexity_fits():
    vectors = np.random.default_rng(0).normal(size=(14, 6))
    np.testing.assert_array_equal(plane(vectors, 3), plane(vectors, 3))
    assert perplexity(14) == pytest.approx(13 / 3) and perplexity(500) == 30
    assert perplexity(5) < 5


def test_vectors_and_centroids_by_hand(dgre):
    pairs = [("how many cat", text) for _, text in PAIRS.values()] * 6
    queries, documents = vectors_of(dgre, pairs)
    with torch.no_grad():
        parts = dgre.output(dgre.read(pairs[:2])).parts
    np.testing.assert_allclose(queries[:2], parts["query"].numpy(), atol=1e-5)
    np.testing.assert_allclose(documents[:2], parts["document"].numpy(), atol=1e-5)
    relevant = [i % 3 == 0 for i in range(18)]
    found = embedded(dgre, pairs, relevant)
    assert [point.kind for point in found.points][18:21] == ["relevant", "not relevant", "not relevant"]
    assert (found.relevant, found.others, len(found.points)) == (6, 12, 36)
    centre, other = queries.mean(axis=0), documents[[i for i in range(18) if i % 3]].mean(axis=0)
    expected = centre @ other / np.linalg.norm(centre) / np.linalg.norm(other)
    assert found.cosines["query, not relevant"] == pytest.approx(expected, abs=1e-5)
    assert embedded(dgre, pairs[:2], [True, True]).points == (), "four points have no picture"
    assert centroid_cosines(np.ones((2, 3)), ["query", "relevant"])["query, not relevant"] is None


def test_a_model_that_reads_several_chunks_is_no_reading(place, embeddings):
    network = VanillaBert.of(VanillaSettings(chunks=2, max_length=24), Ingredients(place))
    with pytest.raises(AssertionError, match="one sequence"):
        read(network, embeddings, "q", PAIRS["q0"])


def test_readings_take_queries_by_turns(dgre, embeddings):
    from whyrank.papers.disentangled.attention import chosen_readings

    run = {qid: [SimpleNamespace(qid=qid, docno=str(i)) for i in range(3)] for qid in PAIRS}
    material = SimpleNamespace(pair=lambda qid, docno: PAIRS[qid], grade=lambda qid, docno: int(qid == "q1"))
    found = chosen_readings(material, run, dgre, embeddings, 4)
    assert [one.qid for one in found] == ["q0", "q1", "q2", "q0"]
    assert [one.relevant for one in found] == [False, True, False, False]
