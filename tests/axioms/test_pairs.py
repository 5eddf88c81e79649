"""Making pairs: determinism, choices, drops; and the pairs file."""

import json

import pytest

from whyrank.axioms.api import PairOptions, make_pairs
from whyrank.axioms.make import Choices
from whyrank.axioms.pair import MinimalPair, read_pairs, write_pairs
from whyrank.axioms.realise import realise, token_categories
from whyrank.axioms.scored_pair import for_patching
from whyrank.collections.collection import Collection
from whyrank.collections.demo import open_demo
from whyrank.core.errors import UserError
from whyrank.text.alignment import CannotAlign
from whyrank.text.differences import word_differences
from whyrank.text.words import words

NO_WORDNET = PairOptions(wordnet=False)
#: Axioms whose documents the demo collection must be able to give.
EVERYTHING = "all"


@pytest.fixture(scope="module")
def made(request):
    from whyrank.rankers.load import load

    rankers = [load("ce-minilm-l12"), load("bi-minilm-l6")]
    return make_pairs(EVERYTHING, open_demo(), rankers, Choices(documents=6), NO_WORDNET), rankers


def test_the_demo_collection_makes_pairs_for_every_axiom_and_variant(made):
    kinds = {(pair.axiom, pair.variant) for pair in made[0].pairs}
    assert len(kinds) == 17
    assert len({pair.id for pair in made[0].pairs}) == len(made[0].pairs)


def test_aligned_pairs_are_aligned_for_each_ranker_and_others_only_fit(made):
    pairs, rankers = made[0].pairs, made[1]
    for pair in pairs:
        for ranker in rankers:
            both = [ranker.document_tokens(*one) for one in realise(pair, ranker)]
            assert max(map(len, both)) <= ranker.max_length
            if pair.aligned:
                assert len(both[0]) == len(both[1])
                categories = token_categories(pair, ranker)
                changed = [i for i in range(len(both[0])) if both[0].ids[i] != both[1].ids[i]]
                assert changed
                assert {categories[i] for i in changed} == {"inj"}


def test_the_file_is_padded_for_the_first_ranker_and_padded_anew_for_others(made):
    pairs, cross = made[0].pairs, made[1][0]
    for pair in [pair for pair in pairs if pair.aligned]:
        assert realise(pair, cross).baseline == (pair.query, pair.baseline)
        assert realise(pair, cross).perturbed == (pair.query, pair.perturbed)


def test_fillers_fill_up_terms_of_several_pieces(real):
    ranker = real("ce-minilm-l12")
    pair = MinimalPair(
        "1",
        "houseplant care",
        "Water it. a",
        "Water it. houseplants",
        slot={"baseline": [(10, 11)], "perturbed": [(10, 21)]},
        contents={"baseline": ["a"], "perturbed": ["houseplants"]},
    )
    baseline, perturbed = realise(pair, ranker)
    assert perturbed[1] == "Water it. houseplants"
    assert baseline[1] == "Water it. " + " ".join(
        ["a"] * len(ranker.pieces.tokenizer.encode("houseplants", add_special_tokens=False).ids)
    )


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(tmp_path):
    for name, seed in (("1", 0), ("2", 0), ("3", 1)):
        write_pairs(
            tmp_path / name, make_pairs("TFC1:*,LNC1,TP", open_demo(), [], Choices(documents=10, seed=seed)).pairs
        )
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()
    assert (tmp_path / "1").read_bytes() != (tmp_path / "3").read_bytes()


def test_pairs_survive_the_file(tmp_path, made):
    write_pairs(tmp_path / "pairs.jsonl", made[0].pairs)
    assert read_pairs(tmp_path / "pairs.jsonl") == list(made[0].pairs)


def test_the_choices_hold():
    demo = open_demo()
    bands = make_pairs("TFC1", demo, [], Choices(documents=30, ranks=((1, 2), (9, 10)))).pairs
    assert {pair.rank for pair in bands} == {1, 2, 9, 10}
    having = make_pairs("TFC1", demo, [], Choices(documents=30, having="term")).pairs
    assert all(pair.term in words(pair.baseline) and pair.tf for pair in having)
    lacking = make_pairs("TFC1", demo, [], Choices(documents=30, having="no-term"))
    assert all(not pair.tf for pair in lacking.pairs)
    assert lacking.dropped["TFC1:append"]["the term is in the text"] > 0
    per_query = {
        pair.qid: pair.term for pair in make_pairs("TFC1", demo, [], Choices(documents=99, term="random")).pairs
    }
    again = {
        pair.qid: pair.term for pair in make_pairs("TFC1", demo, [], Choices(documents=99, term="random")).pairs
    }
    assert per_query == again


def test_fillers_by_policy(real):
    demo, ranker = open_demo(), real("bi-minilm-l6")
    for policy, check in (
        ("mask", lambda pair: pair.filler == "[MASK]"),
        ("random", lambda pair: pair.filler not in words(pair.query) and pair.filler.isalpha()),
        ("frequency", lambda pair: pair.filler not in words(pair.perturbed)),
        ("a", lambda pair: pair.filler not in words(pair.query)),
    ):
        pairs = make_pairs("TFC1", demo, [ranker], Choices(documents=5, filler=policy)).pairs
        assert pairs
        assert all(map(check, pairs)), policy
    with pytest.raises(UserError, match="mask"):
        make_pairs("TFC1", demo, [], Choices(documents=5, filler="mask"))
    with pytest.raises(UserError, match="frequency"):
        make_pairs("TFC1", demo, [], Choices(documents=5, filler="odd"))


def test_the_effect_policy_takes_the_word_that_raises_scores_most():
    documents = {"a": "cat and dog", "b": "dog and cat", "c": "bird", "d": "fish", "e": "cat cat"}
    collection = Collection.from_records("t", documents, {"1": "cat dog bird"})
    from whyrank.rankers.load import load

    bm25 = load("bm25", collection=collection)
    pairs = make_pairs("TFC1", collection, [bm25], Choices(documents=5, term="effect")).pairs
    assert {pair.term for pair in pairs} == {"bird"}
    with pytest.raises(UserError, match="ranker"):
        make_pairs("TFC1", collection, [], Choices(documents=5, term="effect"))


def test_no_pair_at_all_says_why():
    collection = Collection.from_records("t", {"a": "cat"}, {"1": "cat"})
    with pytest.raises(UserError, match="no two query words"):
        make_pairs("TFC3", collection)


def test_added_sentences_of_lnc1_hold_no_word_of_the_query_by_its_stem():
    from whyrank.text.words import Analyzer

    stem = Analyzer()
    for pair in make_pairs("LNC1", open_demo(), [], Choices(documents=40)).pairs:
        added = pair.contents["perturbed"][0]
        assert not set(stem(added)) & set(stem(pair.query))


# A user's own file


def test_a_users_pairs_need_four_keys_and_are_compared_by_their_words(tmp_path, real):
    row = {"id": 1, "query": "tap", "baseline": "The old tap.", "perturbed": "The dripping tap."}
    (tmp_path / "p.jsonl").write_text(json.dumps(row) + "\n")
    (pair,) = read_pairs(tmp_path / "p.jsonl")
    assert word_differences(pair.baseline, pair.perturbed) == {"baseline": [(4, 7)], "perturbed": [(4, 12)]}
    ranker = real("bi-minilm-l6")
    assert realise(pair, ranker) == (("tap", "The old tap."), ("tap", "The dripping tap."))
    filled = for_patching(pair, ranker, pad=True).scored
    assert len(ranker.document_tokens("tap", filled.baseline)) == len(
        ranker.document_tokens("tap", filled.perturbed)
    )


@pytest.mark.parametrize(
    ("baseline", "perturbed", "read"),
    [
        ("The tap is old", "The tap is old tap", "The tap is old a"),
        ("Fix the tap", "Fix the leaking tap", "Fix the a tap"),
        ("fix it", "leaking fix it", "a fix it"),
        ("now.", "now. Bees hum.", "now. a a a"),
    ],
)
def test_words_that_a_user_inserts_stand_against_fillers_where_that_is_asked_for(real, baseline, perturbed, read):
    ranker = real("bi-minilm-l6")
    given = MinimalPair("1", "tap", baseline, perturbed)
    assert realise(given, ranker) == (("tap", baseline), ("tap", perturbed))
    ours, theirs = realise(given.fillable(), ranker)
    assert theirs[1] == perturbed
    assert ours[1].split()[: len(read.split())] == read.split()
    assert len(ranker.document_tokens(*ours)) == len(ranker.document_tokens(*theirs))


def test_a_known_axiom_says_which_side_it_prefers_and_whether_it_is_aligned(tmp_path):
    row = {"id": "1", "query": "tap", "baseline": "A tap.", "perturbed": "A tap. Bees hum.", "axiom": "LNC1"}
    (tmp_path / "p.jsonl").write_text(json.dumps(row))
    (pair,) = read_pairs(tmp_path / "p.jsonl")
    assert (pair.prefer, pair.aligned) == ("baseline", False)
    from whyrank.rankers.load import load

    assert realise(pair, load("bi-minilm-l6")).baseline[1] == "A tap.", "no filler takes away what LNC1 is about"


def test_documents_are_cut_before_the_change_is_made(real):
    ranker = real("bi-minilm-l3")
    text = "old word " * 200 + "tap tap"
    collection = Collection.from_records("t", {"a": text, "b": "tap", "c": "other"}, {"1": "tap"})
    from whyrank.collections.records import Retrieved

    run = {"1": [Retrieved("1", "a", 1, 1.0, "x")]}
    (pair,) = make_pairs("TFC1", collection, [ranker], Choices(documents=1), PairOptions(run=run)).pairs
    assert pair.tf == words(pair.baseline).count(pair.term)
    assert len(ranker.document_tokens(pair.query, pair.perturbed)) <= ranker.max_length
    assert pair.tf == 0, "the term stands beyond the cut"
    with pytest.raises(UserError, match="not in the text"):
        make_pairs("TFC1", collection, [ranker], Choices(documents=1, having="term"), PairOptions(run=run))


def test_late_interaction_pairs_fit_the_models_own_document_length(tmp_path):
    from tests.checkpoints import save
    from whyrank.rankers.load import load

    ranker = load(str(save(tmp_path)), kind="late-interaction", projection="none", document_length=12)
    pair = MinimalPair(
        "1",
        "cat",
        "dog " * 30 + "a",
        "dog " * 30 + "cat",
        slot={"baseline": [(120, 121)], "perturbed": [(120, 123)]},
    )
    baseline, perturbed = realise(pair, ranker)
    assert baseline != perturbed
    assert ranker.scores([baseline, perturbed]).cut == 0


def test_a_pronoun_that_stays_is_no_change(real):
    ranker = real("ce-minilm-l12")
    pair = MinimalPair(
        "1", "tap", "It leaks. It drips.", "Tap leaks. It drips.", term="tap",
        slot={"baseline": [(0, 2), (10, 12)], "perturbed": [(0, 3), (11, 13)]},
    )  # fmt: skip
    categories = token_categories(pair, ranker)
    assert categories.count("inj") == 1


def test_stmc1_is_about_the_query_word_and_its_synonym_stands_in_the_text(real):
    pairs = make_pairs("STMC1", "demo", [real("bi-minilm-l6")], Choices(documents=10), NO_WORDNET).pairs
    assert all(pair.term in words(pair.query) for pair in pairs)
    assert all(pair.contents["perturbed"][0] not in words(pair.query) for pair in pairs)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"id": "1", "query": "q", "baseline": "a"}', "no perturbed"),
        ('{"id": "1", "query": " ", "baseline": "a", "perturbed": "b"}', "no query"),
        ('{"id": "1", "query": "q", "baseline": "a", "perturbed": "a"}', "the same"),
        ('{"id": "0", "query": "q", "baseline": "a", "perturbed": "b"}', "'0' appears twice"),
        (
            '{"id": "1", "query": "q", "baseline": "a", "perturbed": "b", "prefer": "left"}',
            "field prefer: invalid enum value 'left'",
        ),
        ('{"id": "1", "query": "q", "baseline": 5, "perturbed": "b"}', "field baseline: expected str"),
        ('{"id": "1", "query": "q", "baseline": "a", "perturbed": "b", "k": "two"}', "field k: expected int"),
        (
            '{"id": "1", "query": "q", "baseline": "a", "perturbed": "b", "slot": [1]}',
            "field slot: expected object",
        ),
        (
            '{"id": "1", "query": "q", "baseline": "a", "perturbed": "b", '
            '"slot": {"baseline": [[0, 9]], "perturbed": [[0, 1]]}}',
            "do not fit",
        ),
        (
            '{"id": "1", "query": "q", "baseline": "a", "perturbed": "b", "axiom": "LNC1", "prefer": "perturbed"}',
            "prefers the baseline",
        ),
        ("[1]", "JSON object"),
        ("{", "not JSON"),
    ],
)
def test_bad_lines_are_named(tmp_path, line, says):
    good = '{"id": "0", "query": "q", "baseline": "a", "perturbed": "b"}'
    (tmp_path / "p.jsonl").write_text(f"{good}\n{line}\n")
    with pytest.raises(UserError, match=rf"p\.jsonl:2: .*{says}"):
        read_pairs(tmp_path / "p.jsonl")


def test_wrong_bytes_and_empty_files_are_refused(tmp_path):
    (tmp_path / "p.jsonl").write_bytes(b'{"id": "1", "query": "caf\xe9"}\n')
    with pytest.raises(UserError, match=r"p\.jsonl:1: not UTF-8"):
        read_pairs(tmp_path / "p.jsonl")
    (tmp_path / "p.jsonl").write_text("")
    with pytest.raises(UserError, match="empty"):
        read_pairs(tmp_path / "p.jsonl")


def test_categories_of_pairs_that_are_not_aligned_by_nature_are_refused(made):
    pair = next(pair for pair in made[0].pairs if not pair.aligned)
    with pytest.raises(CannotAlign):
        token_categories(pair, made[1][0])
