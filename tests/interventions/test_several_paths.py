"""One walk for several sets of receivers gives what a walk for each gives."""

import pytest
import torch

from tests.checkpoints import save
from whyrank.axioms.pair import MinimalPair
from whyrank.encoders.site import SiteSet
from whyrank.interventions.opened import OpenedPair
from whyrank.interventions.path import PathPatching
from whyrank.interventions.plan import SitePlan
from whyrank.interventions.several_paths import SeveralPaths
from whyrank.interventions.sweep import sweep
from whyrank.rankers.load import load

PAIR = MinimalPair("p", "red cat", "the dog sat on a", "the dog sat on cat", term="cat", qid="q")
EACH = tuple(SiteSet.parse(f"L2.H0.{part}+L1.H3.{part}") for part in "vqk")


@pytest.mark.parametrize("architecture", ["bert", "modernbert"])
@pytest.mark.parametrize("freeze_mlp", [False, True])
@pytest.mark.parametrize("direction", ["denoise", "noise"])
def test_each_set_of_receivers_as_if_alone(tmp_path, architecture, freeze_mlp, direction):
    ranker = load(str(save(tmp_path / architecture, architecture)), kind="bi-encoder")
    senders = [SiteSet.parse(name) for name in ("0.0", "0.3", "1.2", "embed", "L1.mlp")]
    opened = OpenedPair.of(ranker, PAIR)
    several = SeveralPaths(EACH, freeze_mlp, direction)
    found = several.scores(opened, senders).view(3, -1)
    for receivers, scores in zip(EACH, found, strict=True):
        alone = PathPatching(receivers, freeze_mlp, direction).scores(opened, senders)
        assert torch.allclose(scores, alone, atol=1e-6)
    assert not torch.allclose(found[0], found[1], atol=1e-5), "values and queries are not the same path"


def test_rows_name_their_receivers(tmp_path):
    ranker = load(str(save(tmp_path / "bert")), kind="bi-encoder")
    plan = SitePlan.parse("0.0,0.1", ranker.encoder)
    frame = sweep(ranker, [PAIR], plan, SeveralPaths(EACH)).frame
    assert list(frame["receiver"]) == [str(one) for one in EACH for _ in range(2)]
    assert list(frame["site"]) == ["L0.H0.z", "L0.H1.z"] * 3
