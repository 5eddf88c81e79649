"""A token of its own for a word of several pieces, so that an edit of the word moves no other word.

The tokenizer gets the word as an added token that is matched as a whole word, the embedding matrix one more row.
The row is

    mean      the mean of the rows of the word's pieces
    fitted    from there on the row that changes scores least: gradient steps (Adam) on the mean squared change of
    the
              scores of some pairs that hold the word; how far scores move is then said of other pairs

Either way the ranker reads one token where it read several, never saw that token in training, and positions after
it shift: scores of texts that hold the word move by the new token alone. The preview says how far.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor

from whyrank.core.errors import UserError
from whyrank.core.progress import OpenProgress, no_progress
from whyrank.edits.dial import Dial
from whyrank.edits.intent import NewToken
from whyrank.edits.rows import rows_are_local
from whyrank.edits.saving import EDITS_FILE, hugging_face_model, write_checkpoint
from whyrank.edits.term_pieces import pieces_of
from whyrank.encoders.spectrum import Spectrum
from whyrank.rankers.load import load
from whyrank.rankers.neural import NeuralRanker
from whyrank.rankers.ranker import Pair
from whyrank.text.words import words

ROWS = ("mean", "fitted")
#: Steps of the fit, its step size as a share of the row's length, and the most pairs that it is fitted on.
STEPS, RATE, MOST_FITTED = 40, 0.02, 16
#: Pairs in one pass of the fit.
AT_A_TIME = 8


@dataclass(frozen=True, eq=False)
class Extended:
    """A ranker with tokens of their own for some words, its dial (the same direction and units), and the tokens.

    `held` keeps the folder that it was loaded from.
    """

    ranker: NeuralRanker
    dial: Dial
    tokens: tuple[NewToken, ...]
    held: TemporaryDirectory[str]

    @classmethod
    def of(
        cls, plain: Dial, made: NeuralRanker, tokens: Mapping[str, int], held: TemporaryDirectory[str]
    ) -> Extended:
        """The dial goes on: U_0 of a new row is its part along the direction that there is."""
        matrix = made.encoder.word_embeddings.detach().double().cpu()
        old, tokenizer = plain.spectrum, plain.ranker.pieces.tokenizer
        new = matrix[len(old.left) :] @ old.right.T / old.values.clamp(min=torch.finfo(torch.float64).tiny)
        dial = replace(plain, ranker=made, spectrum=Spectrum(torch.cat([old.left, new]), old.values, old.right))
        named = []
        for term, token in tokens.items():
            pieces = tuple(str(tokenizer.id_to_token(piece)) for piece in pieces_of(tokenizer, term))
            named.append(NewToken(term, token, pieces, float(dial.u0[token]), tuple(matrix[token].tolist())))
        return cls(made, dial, tuple(named), held)

    @property
    def ids(self) -> list[int]:
        return [one.token for one in self.tokens]

    def with_rows(self, plain: Dial, rows: Sequence[Sequence[float]]) -> Extended:
        """The same with other rows for the new tokens."""
        weight = self.ranker.encoder.word_embeddings
        _set(weight, self.ids, torch.tensor(rows, dtype=weight.dtype, device=weight.device))
        return self.of(plain, self.ranker, {one.term: one.token for one in self.tokens}, self.held)


def check_row(row: str | None) -> None:
    """Raises for a way to make a row that there is not."""
    if row is not None and row not in ROWS:
        raise UserError(f"unknown new_token '{row}'", todo=f"choose {' or '.join(ROWS)}")


def extended(dial: Dial, terms: Sequence[str]) -> Extended:
    """The dial's ranker with a token, and the mean row, for each of the terms that is of several pieces."""
    ranker = dial.ranker
    if not rows_are_local(ranker):
        raise UserError(
            f"{ranker.name} ({ranker.kind}) writes its tokens, too, and cannot learn a new one by an edit",
            todo="leave out new_token",
        )
    chosen = [term for term in terms if len(pieces_of(ranker.pieces.tokenizer, term)) > 1]
    if not chosen:
        raise UserError("every edited term is one token already", todo="leave out new_token")
    for term in chosen:
        if len(words(term)) != 1:
            raise UserError(f"'{term}' is not a single word", todo="new_token is for words of several pieces")
    held = TemporaryDirectory(prefix="whyrank-")
    folder = Path(held.name) / "ranker"
    tokens = _write(ranker, chosen, folder)
    made = load(str(folder), device=str(ranker.encoder.device))
    assert isinstance(made, NeuralRanker)
    made.name, made.source = ranker.name, ranker.source
    return Extended.of(dial, made, tokens, held)


def _write(ranker: NeuralRanker, terms: Sequence[str], folder: Path) -> dict[str, int]:
    """The checkpoint with the new tokens and mean rows, in a new folder; returns the terms' tokens."""
    folder.mkdir()
    tokens = _next_tokens(ranker, terms)
    model = copy.deepcopy(hugging_face_model(ranker))
    rows = ranker.encoder.word_embeddings.detach()
    model.resize_token_embeddings(max(len(rows), 1 + max(tokens.values())), mean_resizing=False)
    with torch.no_grad():
        for term, token in tokens.items():
            pieces = list(pieces_of(ranker.pieces.tokenizer, term))
            model.get_input_embeddings().weight[token] = rows[pieces].mean(dim=0)
    write_checkpoint(ranker, model, folder, ranker.name, {}, "extended")
    earlier = ranker.checkpoint.folder / EDITS_FILE
    (folder / EDITS_FILE).unlink()
    if earlier.exists():
        (folder / EDITS_FILE).write_bytes(earlier.read_bytes())
    _add_to_tokenizer(folder, tokens)
    return tokens


def _next_tokens(ranker: NeuralRanker, terms: Sequence[str]) -> dict[str, int]:
    """The numbers that a tokenizer gives to added tokens: those after its last."""
    first = 1 + max(ranker.pieces.tokenizer.get_vocab(with_added_tokens=True).values())
    return {term: first + i for i, term in enumerate(terms)}


def _add_to_tokenizer(folder: Path, tokens: dict[str, int]) -> None:
    """Writes the tokenizer's files with the words as tokens, by transformers itself, so that it reads them."""
    import transformers

    for strips in (False, True):
        tokenizer = transformers.AutoTokenizer.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False
        )
        added = [
            transformers.AddedToken(
                term, single_word=True, lstrip=strips, rstrip=False, normalized=True, special=False
            )
            for term in tokens
        ]
        tokenizer.add_tokens(added)
        backend = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
        backend.no_padding()
        read = {term: backend.encode(f"a {term} a", add_special_tokens=False).ids for term in tokens}
        first, last = (backend.encode(text, add_special_tokens=False).ids for text in ("a", " a"))
        if all(ids == [*first, tokens[term], *last] for term, ids in read.items()):
            break  # where a blank belongs to the word after it, the new token takes it
    else:
        raise UserError(
            f"the tokenizer does not read {', '.join(tokens)} as one token each", where=folder,
            todo="leave out new_token",
        )  # fmt: skip
    tokenizer.save_pretrained(folder)


def fit(
    made: Extended, pairs: Sequence[Pair], scores: np.ndarray, *, step: OpenProgress = no_progress
) -> list[list[float]]:
    """Moves the new rows, in place, to where the pairs' scores are nearest to these, and returns them. The best
    that were met are kept, so the pairs' scores never end farther away than they were."""
    ranker, ids = made.ranker, made.ids
    weight = ranker.encoder.word_embeddings
    target = torch.from_numpy(np.asarray(scores, dtype=np.float32)).to(weight.device)
    rows = weight.detach()[ids].clone().requires_grad_()
    adam = torch.optim.Adam([rows], lr=float(RATE * rows.detach().norm(dim=1).mean() / rows.shape[1] ** 0.5))
    best, least = rows.detach().clone(), float("inf")
    with step("fitting the new rows", STEPS) as advance:
        for i in range(STEPS + 1):
            loss, gradient = _loss(ranker, ids, rows.detach(), pairs, target)
            if loss < least:
                best, least = rows.detach().clone(), loss
            if i < STEPS:
                rows.grad = gradient
                adam.step()
                advance(1)
    _set(weight, ids, best)
    found: list[list[float]] = best.double().cpu().tolist()
    return found


def _loss(
    ranker: NeuralRanker, ids: list[int], rows: Tensor, pairs: Sequence[Pair], target: Tensor
) -> tuple[float, Tensor]:
    """The mean squared difference of the scores with these rows, and its gradient by the rows."""
    weight = ranker.encoder.word_embeddings
    _set(weight, ids, rows)
    total, gradient, asked = 0.0, torch.zeros_like(rows), weight.requires_grad
    weight.requires_grad_(True)
    try:
        with torch.enable_grad():
            for start in range(0, len(pairs), AT_A_TIME):
                some = slice(start, start + AT_A_TIME)
                difference = ranker.trace(pairs[some]).scores - target[some]
                part = (difference**2).sum() / len(pairs)
                (whole,) = torch.autograd.grad(part, weight)
                gradient += whole[ids]
                total += float(part.detach())
    finally:
        weight.requires_grad_(asked)
    return total, gradient


def _set(weight: Tensor, ids: list[int], rows: Tensor) -> None:
    with torch.no_grad():
        weight[ids] = rows
