"""DGRe and LGRe for one example as the equations are printed: loops over words, one number at a time, float64."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

#: What a relation outside the mask has added to it.
EPS = -1e4
CLS, SEP = 1, 2


def roles_of(ids: list[int]) -> list[str]:
    """[CLS] q [SEP] d [SEP], by the separators alone."""
    middle = ids.index(SEP)
    inner = ["query" if i < middle else "document" for i in range(1, len(ids) - 1)]
    inner[middle - 1] = "middle"
    return ["cls", *inner, "final"]


class Literal:
    """One example in chunks: `ids` of each chunk, and a model's weights by name."""

    def __init__(self, settings: Any, weights: dict[str, np.ndarray], ids: list[list[int]]) -> None:
        self.settings, self.weights = settings, weights
        self.roles = [role for chunk in ids for role in roles_of(chunk)]
        self.chunk = [number for number, chunk in enumerate(ids) for _ in chunk]
        self.words = range(len(self.roles))

    def which(self, role: str, chunk: int | None = None) -> list[int]:
        return [i for i in self.words if self.roles[i] == role and chunk in (None, self.chunk[i])]

    def related(self, i: int, j: int) -> bool:
        """Eq. 7, and what LGRe's code adds."""
        if self.chunk[i] != self.chunk[j]:
            return False
        if self.settings.masking == "none" or i == j:
            return True
        one, other = {"query"}, {"document", "final"}
        if self.settings.specials:
            one, other = one | {"cls"}, other | {"middle"}
        sides = self.roles[i], self.roles[j]
        if (sides[0] in one and sides[1] in other) or (sides[1] in one and sides[0] in other):
            return True
        return bool(self.settings.neighbours and abs(i - j) == 1 and set(sides) <= other)

    def graph(self, layer: int, states: np.ndarray) -> np.ndarray:
        """Eq. 8-10: A of states [S, d]."""
        shared = self.settings.shared_projection
        W = self.weights[f"graphs.projections.{0 if shared else layer}.weight"]
        projected = [W @ states[i] for i in self.words]
        s = np.empty((len(self.words), len(self.words)))
        for i in self.words:
            for j in self.words:
                s[i, j] = projected[i] @ projected[j] / math.sqrt(len(W))
                s[i, j] += EPS * (1 - self.related(i, j))
                if self.settings.masking == "learned" and i != j:
                    s[i, j] -= self.weights["graphs.thresholds"][layer]
        if self.settings.masking in ("none", "heuristic"):
            return np.array([[math.exp(s[i, j] - max(s[i])) for j in self.words] for i in self.words]) / np.array(
                [[sum(math.exp(s[i, j] - max(s[i])) for j in self.words)] for i in self.words]
            )
        G = np.maximum(s, 0)
        size = max(max(row) for row in G) if self.settings.norm == "element" else max(sum(row) for row in G)
        A = np.zeros_like(G)
        for i in self.words:
            total = sum(math.expm1(G[i, j] / size) for j in self.words)
            for j in self.words:
                A[i, j] = math.expm1(G[i, j] / size) / total if total else 0.0
        return A

    def refined(self, layer: int, states: np.ndarray) -> np.ndarray:
        """Eq. 11: T steps of the gated graph network."""
        A, x, d = self.graph(layer, states), states, states.shape[1]
        heard, word = self.weights["gated.gate_heard.weight"], self.weights["gated.gate_word.weight"]
        none = {"gated.gate_heard.bias": np.zeros(2 * d), "gated.new_heard.bias": np.zeros(d)}
        biases = {name: self.weights[name] if self.settings.gate_bias else none[name] for name in none}
        bias = biases["gated.gate_heard.bias"]
        (W_z, W_r), (U_z, U_r), (b_z, b_r) = ((one[:d], one[d:]) for one in (heard, word, bias))
        W_h, U_h = self.weights["gated.new_heard.weight"], self.weights["gated.new_word.weight"]
        for _ in range(self.settings.steps):
            after = np.empty_like(x)
            for i in self.words:
                a = sum(A[i, j] * x[j] for j in self.words)
                z = sigmoid(W_z @ a + U_z @ x[i] + b_z)
                r = sigmoid(W_r @ a + U_r @ x[i] + b_r)
                h = np.tanh(W_h @ a + U_h @ (r * x[i]) + biases["gated.new_heard.bias"])
                after[i] = z * h + (1 - z) * x[i]
            x = after
        return x

    def mixed(self, h: np.ndarray) -> np.ndarray:
        """Eq. 12, within each chunk."""
        W_a, W_h = self.weights["attention.asking.weight"], self.weights["attention.asked.weight"]
        scale = 1 / math.sqrt(h.shape[1]) if self.settings.scale else 1.0
        Z = np.zeros_like(h)
        for i in self.words:
            near = [j for j in self.words if self.chunk[j] == self.chunk[i]]
            found = {j: math.exp((W_a @ h[i]) @ (W_h @ h[j]) * scale) for j in near}
            for j in near:
                Z[i] += found[j] / sum(found.values()) * h[j]
        return Z

    def decomposed(self, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Eq. 14/15: Z_dr and Z_dn [m, d]; each document word meets the query's copy in its own chunk."""
        W_q, W_d = self.weights["decomposition.query.weight"], self.weights["decomposition.document.weight"]
        m, document = len(self.which("query", 0)), self.which("document")
        related, unrelated = np.zeros((m, words.shape[1])), np.zeros((m, words.shape[1]))
        for i in range(m):
            for j in document:
                query = self.which("query", self.chunk[j])[i]
                A = sigmoid((W_q @ words[query]) @ (W_d @ words[j]))
                related[i] += A * words[j]
                unrelated[i] += (1 - A) * words[j]
        length = len(document) if self.settings.per_length else 1
        return related / length, unrelated / length

    def pooled(self, words: np.ndarray) -> np.ndarray:
        """LGRe's read-out: mean and maximum of the gated tokens."""
        w, W = self.weights["pool.attention.weight"][0], self.weights["pool.meaning.weight"]
        gated = np.array(
            [
                sigmoid(w @ z + self.weights["pool.attention.bias"][0])
                * np.tanh(W @ z + self.weights["pool.meaning.bias"])
                for z in words
            ]
        )
        return gated.mean(axis=0) + gated.max(axis=0)

    def cls(self, states: np.ndarray) -> np.ndarray:
        return np.mean([states[i] for i in self.which("cls")], axis=0)

    def value(self, layer: int, vectors: list[np.ndarray]) -> float:
        weight, bias = (self.weights[f"readout.values.{layer}.{name}"] for name in ("weight", "bias"))
        return float(weight[0] @ np.concatenate(vectors) + bias[0])

    def score(self, states: list[np.ndarray], dgre: bool = True) -> float:
        """g of the refined layers' states [S, d] (Eq. 16/17)."""
        values = []
        for layer, state in enumerate(states):
            words = self.refined(layer, state)
            words = self.mixed(words) if dgre else words
            parts = [self.decomposed(words)[0].mean(axis=0)] if dgre and self.settings.decomposition else []
            values.append(self.value(layer, [self.pooled(words), *parts, self.cls(state)]))
        weight, bias = self.weights["readout.together.weight"][0], self.weights["readout.together.bias"][0]
        return float(weight @ np.array(values) + bias)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))
