"""The heads behind a word: shares equal to plain hooks on the Hugging Face module."""

import pytest
import torch

from tests.cli.run import whyrank
from whyrank.explain.api import explain

QUERY = "why do leaves turn yellow"
TEXT = "Leaves turn yellow when roots sit in wet soil for days."


def hooked(ranker, text, heads, source):
    """The score of (QUERY, text) with these heads' outputs from the pass over (QUERY, source)."""
    size = ranker.encoder.width // ranker.encoder.heads if hasattr(ranker.encoder, "width") else 32
    inputs = {one: ranker.batch(ranker.pieces.pairs([(QUERY, one)])) for one in (text, source)}
    kept, handles = {}, []

    def pass_over(one):
        batch = inputs[one]
        with torch.no_grad():
            return float(ranker.model(input_ids=batch.ids, token_type_ids=batch.types).logits)

    for number, layer in enumerate(ranker.model.bert.encoder.layer):

        def keep(module, arguments, number=number):
            kept[number] = arguments[0].clone()

        handles.append(layer.attention.output.dense.register_forward_pre_hook(keep))
    pass_over(source)
    for handle in handles:
        handle.remove()
    handles = []
    for number, layer in enumerate(ranker.model.bert.encoder.layer):
        mine = [head for at, head in heads if at == number]

        def put(module, arguments, number=number, mine=mine):
            changed = arguments[0].clone()
            for head in mine:
                changed[..., head * size : (head + 1) * size] = kept[number][..., head * size : (head + 1) * size]
            return (changed,)

        handles.append(layer.attention.output.dense.register_forward_pre_hook(put))
    score = pass_over(text)
    for handle in handles:
        handle.remove()
    return score


def numbers(name):
    layer, head = name.replace("L", "").replace("H", "").split(".")
    return int(layer), int(head)


def test_shares_are_those_of_plain_hooks(real):
    ranker = real("ce-minilm-l12")
    found = explain(ranker, QUERY, TEXT, heads=True)
    behind = found.heads
    without = (
        TEXT.replace(behind.word, found.filler)
        if behind.word in TEXT
        else TEXT.replace(behind.word.title(), found.filler)
    )
    base, score = ranker.score([(QUERY, without), (QUERY, TEXT)])
    assert (behind.without, behind.score) == pytest.approx((base, score), abs=1e-4)
    assert behind.word == max(found.terms, key=lambda one: abs(one.effect)).word
    for one in behind.heads[:3]:
        share = (hooked(ranker, without, [numbers(one.head)], TEXT) - base) / (score - base)
        assert one.share == pytest.approx(share, abs=1e-3)
    for group in behind.groups:
        share = (hooked(ranker, without, list(map(numbers, group.heads)), TEXT) - base) / (score - base)
        assert group.share == pytest.approx(share, abs=1e-3)
    assert [group.name for group in behind.groups] == ["matching heads", "scoring heads"]
    assert behind.total == 144 and behind.patched == 24
    assert f"With fillers for '{behind.word}'" in found.in_words()


def test_the_screen_does_not_lose_the_strongest_heads(real):
    """The heads that are patched exactly hold the five strongest of all heads."""
    from whyrank.axioms.pair import MinimalPair
    from whyrank.interventions.api import patch

    ranker = real("ce-minilm-l12")
    found = explain(ranker, QUERY, TEXT, heads=True)
    without = TEXT.replace("yellow", found.filler)
    assert found.heads.word == "yellow"
    every = patch(ranker, [MinimalPair("p", QUERY, without, TEXT)]).to_pandas()
    strongest = every.reindex(every["effect"].abs().sort_values(ascending=False).index)["site"][:5]
    assert {name.removesuffix(".z") for name in strongest} <= {one.head for one in found.heads.heads}


def test_a_bi_encoders_heads_and_a_page(real, tmp_path):
    found = explain(real("bi-minilm-l3"), QUERY, TEXT, heads=True, out=tmp_path / "run")
    assert found.heads.groups == () and found.heads.total == 36
    page = (tmp_path / "run" / "report.html").read_text()
    assert (
        f"The heads behind '{found.heads.word}'" in page.replace("&#x27;", "'") and "straight to the score" in page
    )


def test_the_command_prints_the_heads(tmp_path):
    words = ("explain", "--ranker", "bi-minilm-l3", "--query", QUERY, "--doc", TEXT, "--heads")
    done = whyrank(*words, cwd=tmp_path)
    assert done.returncode == 0 and "the heads with the largest shares" in done.stdout.replace("\n", " "), (
        done.stderr
    )
