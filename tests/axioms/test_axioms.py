"""Each axiom on a hand-made example: what it changes, what it keeps, and which side it prefers."""

import random
from dataclasses import replace

import pytest

from whyrank.axioms.axiom import Material, Skip
from whyrank.axioms.registry import own_axioms, parse_axiom, parse_axioms
from whyrank.axioms.tfc2 import TFC2
from whyrank.core.errors import UserError
from whyrank.text.words import words

IDF = {"dripping": 5.0, "tap": 4.5, "stop": 1.0, "water": 0.5}
TEXT = "The tap leaks. It is old. Stop the water first."
OTHERS = [
    ("d2", "A dripping tap is bad. Nobody likes dripping. The tap is new. We stop here."),
    ("d3", "The red cat sat. The blue dog ran. It was dripping. The end came dripping."),
]


def material(text=TEXT, query="stop dripping tap water", **more):
    terms = tuple(sorted((w for w in words(query) if w in IDF), key=lambda w: -IDF[w]))
    given = {
        "qid": "q", "query": query, "docid": "d1", "text": text, "rank": 3, "term": terms[0], "terms": terms,
        "random": random.Random(0), "filler": "a", "idf": lambda word: IDF.get(word, 0.0),
        "synonym": {"dripping": "leaking", "tap": "faucet"}.get, "other_texts": lambda: OTHERS,
        "foreign_sentences": lambda generator, count: ["Bees make honey.", "Iron rusts.", "Snow fell."][:count],
        "shorten": lambda text, share: " ".join(text.split()[: int(len(text.split()) * share)]),
    }  # fmt: skip
    return Material(**{**given, **more})


def only(name, given=None):
    (draft,) = parse_axiom(name).drafts(given or material())
    return draft.slotted.text("baseline"), draft.slotted.text("perturbed"), draft


@pytest.mark.parametrize(
    ("name", "baseline", "perturbed"),
    [
        ("TFC1:append", f"{TEXT} a", f"{TEXT} dripping"),
        ("TFC1:prepend", f"a {TEXT}", f"dripping {TEXT}"),
        ("TDC", f"{TEXT} tap", f"{TEXT} dripping"),
        ("STMC1", f"{TEXT} a", f"{TEXT} leaking"),
        ("STMC2", f"{TEXT} leaking leaking leaking", f"{TEXT} dripping a a"),
    ],
)
def test_what_is_added(name, baseline, perturbed):
    if name == "TDC":
        given = material(query="dripping tap", text="Nothing here.")
        given = replace(given, idf={"dripping": 5.0, "tap": 2.0}.get)
        baseline, perturbed = "Nothing here. tap", "Nothing here. dripping"
    else:
        given = material()
    assert only(name, given)[:2] == (baseline, perturbed)


def test_middle_is_a_sentence_boundary_and_a_word_boundary_where_there_is_none():
    baseline, perturbed, draft = only("TFC1:middle")
    assert draft.where == "sentence boundary"
    assert perturbed in (
        "The tap leaks. dripping It is old. Stop the water first.",
        "The tap leaks. It is old. dripping Stop the water first.",
    )
    assert baseline == perturbed.replace("dripping", "a")
    assert only("TFC1:middle", material("one two three"))[2].where == "word boundary"
    with pytest.raises(Skip):
        only("TFC1:middle", material("one"))


def test_replace_takes_every_occurrence_whatever_its_case_or_punctuation():
    given = material("Tap, tap. A tapping TAP!", query="tap")
    baseline, perturbed, draft = only("TFC1:replace", given)
    assert baseline == "a, a. A tapping a!"
    assert perturbed == given.text
    assert draft.where == "3 places"
    with pytest.raises(Skip, match="not in the text"):
        only("TFC1:replace", material("no such word"))


def test_expansion_adds_sentences_with_the_term_against_as_many_without():
    baseline, perturbed, draft = only("TFC1:expansion")
    assert words(perturbed).count("dripping") >= 2
    assert "dripping" not in words(baseline)
    assert draft.slotted.segments[0].strip() in TEXT
    assert not parse_axiom("TFC1:expansion").aligned


def test_natural_pairs_differ_in_the_terms_frequency_and_agree_in_length():
    given = material(" ".join(["word"] * 15))
    baseline, perturbed, _ = only("TFC1:natural", given)
    assert words(perturbed).count("dripping") > words(baseline).count("dripping")
    assert abs(len(words(perturbed)) - len(words(baseline))) <= 1.5
    with pytest.raises(Skip):
        only("TFC1:natural", material("word " * 300))


def test_tfc2_cumulative_shares_one_baseline_and_marginal_takes_one_step():
    cumulative = list(TFC2("cumulative", most=3).drafts(material()))
    assert [draft.k for draft in cumulative] == [1, 2, 3]
    assert {draft.slotted.text("baseline") for draft in cumulative} == {f"{TEXT} a a a a"}
    assert cumulative[1].slotted.text("perturbed") == f"{TEXT} dripping dripping a a"
    marginal = list(TFC2("marginal", most=3).drafts(material()))
    assert marginal[1].slotted.text("baseline") == f"{TEXT} dripping dripping a a"
    assert marginal[1].slotted.text("perturbed") == f"{TEXT} dripping dripping dripping a"
    papers = next(TFC2("marginal", slots=51).drafts(material()))
    assert len(papers.slotted.baseline) == 51


def test_tfc2_restore_turns_pronouns_into_the_term():
    text = "The tap leaks. It drips. They said the tap water is old. The tap water is fine."
    drafts = list(TFC2("restore").drafts(material(text, query="tap")))
    assert [draft.k for draft in drafts] == [1, 2, 3]
    assert (
        drafts[0].slotted.text("baseline")
        == "It leaks. It drips. They said the tap water is old. The tap water is fine."
    )
    assert (
        drafts[1].slotted.text("perturbed")
        == "Tap leaks. Tap drips. They said the tap water is old. The tap water is fine."
    )
    with pytest.raises(Skip):
        list(TFC2("restore").drafts(material("Nothing to see.")))


def test_tfc3_gives_two_different_words_against_one_twice():
    baseline, perturbed, _ = only("TFC3", material("Nothing here."))
    first, second = perturbed.split()[-2:]
    assert {first, second} in ({"dripping", "tap"}, {"stop", "water"})
    assert baseline.split()[-2:] == [first, first]
    with pytest.raises(Skip):
        only("TFC3", material("tap", query="tap"))


def test_m_tdc_swaps_two_words_everywhere_and_prefers_more_of_the_rarer():
    given = replace(
        material("Stop the tap. Stop!", query="stop tap"), idf={"stop": 1.0, "tap": 4.0}.get, terms=("tap", "stop")
    )
    baseline, perturbed, _ = only("M-TDC", given)
    assert baseline == "Stop the tap. Stop!"
    assert perturbed == "Tap the stop. Tap!"
    with pytest.raises(Skip):
        only("M-TDC", replace(given, text="nothing"))


def test_lnc1_adds_sentences_and_prefers_the_baseline():
    baseline, perturbed, draft = only("LNC1", material(random=random.Random(3)))
    assert baseline == TEXT
    assert perturbed.startswith(f"{TEXT} ")
    assert perturbed.count(".") == TEXT.count(".") + draft.k
    assert parse_axiom("LNC1").prefers == "baseline"


def test_lnc2_doubles_the_document():
    baseline, perturbed, _ = only("LNC2", material("one two three four"))
    assert (baseline, perturbed) == ("one two", "one two one two")


def test_tp_moves_two_query_words_together():
    baseline, perturbed, _ = only("TP")
    assert sorted(baseline.split()) == sorted(perturbed.split())
    first, second = (word for word in perturbed.split()[len(TEXT.split()) :] if word != "a")
    assert material().query.index(first) < material().query.index(second)
    assert baseline.split()[-1] == second
    with pytest.raises(Skip):
        only("TP", material(query="tap"))


@pytest.mark.parametrize("name", own_axioms())
def test_every_axiom_prints_as_it_parses_and_cites_its_source(name):
    axiom = parse_axiom(name)
    assert parse_axiom(str(axiom)) == axiom
    assert axiom.citation
    module = __import__(type(axiom).__module__, fromlist=["x"])
    assert "Let " in module.__doc__ or "If " in module.__doc__, "the formal definition"


def test_axioms_are_parsed_by_name_variant_or_all_at_once():
    assert list(map(str, parse_axioms("tfc1:prepend, LNC1"))) == ["TFC1:prepend", "LNC1:sentences"]
    assert len(parse_axioms("TFC1:*")) == 6
    assert {axiom.name for axiom in parse_axioms("all")} == set(own_axioms())
    with pytest.raises(UserError, match="TFC1"):
        parse_axioms("TFC9")
    with pytest.raises(UserError, match="append"):
        parse_axioms("TFC1:apend")
