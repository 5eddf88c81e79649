"""Damaged pairs files: refused in one line that names the file and the line, or read and used to the end."""

import json
import warnings
from random import Random

import pytest

from tests.checkpoints import save
from tests.mutate import mutated_json
from whyrank.audit.scoring import audit_pairs
from whyrank.axioms.pair import MinimalPair, read_pairs
from whyrank.core.errors import UserError
from whyrank.interventions.api import patch
from whyrank.rankers.load import load

OWN = {
    "id": "p", "query": "red cat", "baseline": "the dog sat on a mat", "perturbed": "the dog sat on red mat",
    "qid": 3, "docid": "d", "term": "red", "where": "end", "k": 1, "rank": 2, "tf": 0, "prefer": "perturbed",
}  # fmt: skip
OURS = json.loads(MinimalPair(
    "TFC2:cumulative:q:d:2", "red cat", "the dog sat a a a", "the dog sat cat cat a", axiom="TFC2",
    variant="cumulative", qid="q", docid="d", term="cat", where="end", k=2, rank=1, tf=0, filler="a",
    slot={"baseline": [(12, 13), (14, 15), (16, 17)], "perturbed": [(12, 15), (16, 19), (20, 21)]},
    contents={"baseline": ["a", "a", "a"], "perturbed": ["cat", "cat", "a"]},
).to_json())  # fmt: skip


@pytest.fixture(scope="module")
def ranker(tmp_path_factory):
    return load(str(save(tmp_path_factory.mktemp("mutated") / "bi")), kind="bi-encoder")


@pytest.mark.parametrize("line", [OWN, OURS], ids=["a user's", "ours"])
def test_a_damaged_line_is_refused_by_file_and_line_or_used(line, ranker, tmp_path):
    random, path, refused = Random(16), tmp_path / "p.jsonl", 0
    good = json.dumps({**OWN, "id": "good", "query": "blue tree"}).encode()
    for number in range(250):
        damaged = mutated_json(json.dumps(line).encode(), random)
        path.write_bytes(good + b"\n" + damaged.content + b"\n")
        try:
            with warnings.catch_warnings(action="error"):
                use(read_pairs(path), ranker)
        except UserError as error:
            refused += 1
            assert "\n" not in str(error), damaged.name
            assert error.where is None or str(error.where).startswith(str(path)), damaged.name
        except Exception as error:
            raise AssertionError(f"number {number}: {damaged.name}") from error
    assert refused > 100


def use(pairs, ranker):
    """Audits and patches the pairs; what comes of it is JSON."""
    json.dumps(audit_pairs([ranker], pairs).to_json(), allow_nan=False)
    json.dumps(patch(ranker, pairs, sites="0.1", skip=True).to_json(), allow_nan=False)
