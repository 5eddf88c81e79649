"""A plan of a tiny training, and what is needed to compare two of them."""

from __future__ import annotations

import transformers
from safetensors.torch import load_file

from tests.checkpoints import save
from tests.learning.small import COLLECTION, FIRST
from tests.tiny import CONFIGS, shaken
from whyrank.learning.judgements import Judged
from whyrank.learning.plan import plan_training
from whyrank.learning.trainer import Trainer

QUICK = {"epochs": 3, "batch": 8, "rate": 3e-3, "backbone_rate": 1e-3, "critic_rate": 1e-2, "select": "nDCG@5"}


def backbone(folder, **config):
    """A tiny BERT on disk; `config` changes its config."""
    if not (folder / "backbone").exists():
        known = CONFIGS["bert"].to_dict()
        model = transformers.AutoModel.from_config(type(CONFIGS["bert"])(**{**known, **config}))
        save(folder / "backbone", model=shaken(model.eval()))
    return str(folder / "backbone")


def still_backbone(folder):
    """One that drops nothing out."""
    return backbone(folder, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)


def plan(folder, model="tiny-critic", collection=COLLECTION, folds=3, seeds=(0,), start=None, **given):
    return plan_training(
        model, start or backbone(folder), Judged(collection), FIRST, {**QUICK, **given}, folds=folds, seeds=seeds
    )


def training(folder, name="run", **how):
    """A training that writes to a folder of this name."""
    return Trainer(plan(folder, **how), folder / name, folder / name / ".work")


def weights(folder, name="run"):
    """All trained weights, by job."""
    return {
        path.name: load_file(path / "model.safetensors") for path in sorted((folder / name / "models").iterdir())
        if path.is_dir()
    }  # fmt: skip


def assert_equal(some, others):
    """Bit for bit."""
    assert some.keys() == others.keys() and some
    for job, mine in some.items():
        for name, weight in mine.items():
            assert weight.equal(others[job][name]), f"{job}: {name}"
