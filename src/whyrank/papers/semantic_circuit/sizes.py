"""How much of everything the study measures."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StudySizes:
    """How much of everything; texts are cut to `max_length` tokens where heads are patched (MS MARCO's passages,
    on which the paper worked, are about as long)."""

    to_select: int = 400
    to_logits: int = 500
    to_heads: int = 100
    activation: int = 40
    counting: int = 24
    length: int = 100
    randoms: int = 10
    max_length: int = 128
    two_tokens: int = 60
    suppress: int = 3
    suppress_k: int = 10
    suppress_scales: str = "1,5,20,100,400,1200"
    samples: int = 20
    queries: int | None = None
    epochs: int = 3
    seeds: int = 3
    finetune_k: int = 20

    @classmethod
    def quick(cls) -> StudySizes:
        """About eight minutes on two cores: to see that all is well, not to believe in."""
        return cls(
            to_select=8, to_logits=40, to_heads=6, activation=6, counting=2, length=8, randoms=2, max_length=96,
            two_tokens=6, suppress=2, suppress_k=12, suppress_scales="1,20,1200", samples=5, queries=40, epochs=1,
            seeds=1, finetune_k=10,
        )  # fmt: skip
