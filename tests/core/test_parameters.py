"""Every verb refuses a number out of range in one line, before it opens anything: nothing named here exists."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import whyrank
from whyrank.core.parameters import LARGEST_SEED, at_least, check_counts, check_seed
from whyrank.edits.edit import Edit

NO_RANKER, NO_COLLECTION, NO_PAIRS = "no-such-ranker", "no-such-collection", "no-such-pairs.jsonl"

#: Of each verb: how to call it with what does not exist, and numbers that are out of range.
CALLS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], list[tuple[str, Any]]]] = {
    "pairs": (whyrank.pairs, ("TFC1", NO_COLLECTION), [
        ("documents", 0), ("documents", -1), ("documents", 2.5), ("depth", 0), ("seed", -1), ("seed", 2**32),
    ]),
    "audit": (whyrank.audit, (NO_RANKER, NO_COLLECTION), [
        ("documents", 0), ("depth", -1), ("delta", -1), ("delta", math.nan), ("seed", -1),
    ]),
    "rank": (whyrank.rank, (NO_RANKER, NO_COLLECTION), [("queries", -1), ("queries", 0), ("depth", 0)]),
    "evaluate": (whyrank.evaluate, ("no-such-run", "no-such-qrels"), [("seed", -1), ("seed", "0")]),
    "patch": (whyrank.patch, (NO_RANKER, NO_PAIRS), [
        ("first", -2), ("first", 0), ("max_length", 7), ("min_gap", -0.1), ("seed", -1), ("steps", -1),
        ("check", 0), ("screen", 0),
    ]),
    "circuit": (whyrank.circuit, (NO_RANKER, NO_PAIRS), [
        ("pairs_to_logits", 1), ("pairs_to_heads", 0), ("pairs_to_select", 1), ("search_steps", 0),
        ("randoms", -1), ("max_length", 0), ("seed", -1),
    ]),
    "semantic_bm": (whyrank.semantic_bm, (NO_RANKER, NO_COLLECTION), [
        ("depth", 0), ("queries", -1), ("min_samples", -1), ("max_length", 1), ("seed", -1),
    ]),
    "idf": (whyrank.idf, (NO_RANKER, NO_COLLECTION), [("vectors", 0), ("vectors", -3)]),
    "edit": (whyrank.edit, (NO_RANKER, Edit.of({"yellow": 5}, (), "paper")), [
        ("queries", -1), ("queries", 0), ("depth", 0), ("seed", -1),
    ]),
    "two_tokens": (whyrank.two_tokens, (NO_RANKER, NO_COLLECTION), [
        ("queries", -1), ("seed", -1), ("randoms", 1),
    ]),
    "suppress": (whyrank.suppress, (NO_RANKER, ["yellow"], NO_COLLECTION), [
        ("documents", 0), ("depth", -1), ("min_rise", -1.0), ("seed", -1), ("randoms", 1),
    ]),
    "align": (whyrank.align, (NO_RANKER, NO_COLLECTION), [("queries", 0), ("depth", 0), ("seed", -1)]),
    "finetune": (whyrank.finetune, (NO_RANKER, NO_COLLECTION), [
        ("seeds", 0), ("epochs", 0), ("negatives", 0), ("positives", 0), ("batch", 0), ("positive", 0),
        ("patience", 0), ("depth", 0), ("queries", -1), ("max_length", 7), ("seed", -1),
    ]),
    "train": (whyrank.train, ("bert", NO_RANKER, NO_COLLECTION), [("seed", -1), ("seed", 2**32)]),
}  # fmt: skip


@pytest.mark.parametrize(
    ("verb", "name", "value"),
    [(verb, name, value) for verb, (_, _, bad) in CALLS.items() for name, value in bad],
)
def test_a_number_out_of_range_is_refused_by_name(verb: str, name: str, value: Any) -> None:
    call, arguments, _ = CALLS[verb]
    with pytest.raises(whyrank.UserError) as refused:
        call(*arguments, **{name: value})
    assert str(refused.value).startswith(f"{name} cannot be {value!r}; give ")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["folds", "seeds", "depth", "queries"])
def test_training_checks_its_own_counts_which_a_file_may_hold(name: str) -> None:
    with pytest.raises(whyrank.UserError, match=f"{name} is 0; give 1 or more"):
        whyrank.train("bert", NO_RANKER, NO_COLLECTION, **{name: 0})


@pytest.mark.parametrize("ranker", [NO_RANKER, "bm25"])
@pytest.mark.parametrize("device", ["cuda9x", "nowhere", "cuda:99"])
def test_a_device_that_is_not_there_is_refused_in_one_line(device: str, ranker: str) -> None:
    with pytest.raises(whyrank.UserError, match=rf"^device cannot be '{device}' \(.+\); choose cpu") as refused:
        whyrank.load(ranker, device=device)
    assert "\n" not in str(refused.value)


def test_training_refuses_a_device_before_anything_is_opened() -> None:
    with pytest.raises(whyrank.UserError, match="device cannot be 'cuda9x'"):
        whyrank.train("bert", NO_RANKER, NO_COLLECTION, device="cuda9x")


def test_what_is_in_range_passes() -> None:
    at_least("delta", 0.0, 0)
    at_least("delta", None, 0)
    check_counts(1, first=1, queries=None, depth=np.int64(3))  # type: ignore[arg-type]
    check_seed(LARGEST_SEED)


@pytest.mark.parametrize("value", [True, "3", 1.5, [1]])
def test_a_count_is_a_whole_number(value: Any) -> None:
    with pytest.raises(whyrank.UserError, match=r"depth cannot be .*; give a whole number, 1 or more"):
        check_counts(1, depth=value)


@pytest.mark.parametrize("verb", ["pairs", "audit"])
def test_an_option_that_is_not_known_is_refused(verb: str) -> None:
    call, arguments, _ = CALLS[verb]
    with pytest.raises(whyrank.UserError, match=r"there is no option 'document'; did you mean documents"):
        call(*arguments, document=3)
