"""A ranker whose dial is set to a collection's IDF: U_0 becomes what the words' rarity there says.

    U_0'[t] = mean(U_0) + sd(U_0) * (mean(idf) - idf[t]) / sd(idf)        over the tokens that have an IDF
    W'[t]   = W[t] + (U_0'[t] - U_0[t]) S_0 V_0                           the other tokens keep their rows

so that U_0 keeps its mean and its spread over these tokens, and its correlation with their IDF becomes -1.
"""

from __future__ import annotations

import torch
from torch import Tensor

from whyrank.collections.idf import TokenIdf
from whyrank.core.errors import UserError
from whyrank.edits.dial import Dial, idf_correlation, oriented_spectrum
from whyrank.edits.results import AlignmentFit
from whyrank.edits.rows import RowChange, applied
from whyrank.encoders.spectrum import Spectrum
from whyrank.evaluation.correlation import is_constant
from whyrank.evaluation.estimate import finite


def aligned_u0(u0: Tensor, idf: Tensor) -> Tensor:
    """U_0' [V] from U_0 [V] and the tokens' IDF [V], NaN for those that have none and keep theirs."""
    known = torch.isfinite(idf)
    old, rarity = u0[known].double(), idf[known].double()
    if len(rarity) < 2 or is_constant(rarity.numpy()):
        raise UserError("all words are equally rare here", todo="give a collection whose words differ in rarity")
    z = (rarity.mean() - rarity) / rarity.std(correction=0)
    new = u0.double().clone()
    new[known] = old.mean() + old.std(correction=0) * z
    return new


def aligned_rows(matrix: Tensor, spectrum: Spectrum, idf: Tensor) -> Tensor:
    """W' [V, d] of W [V, d], its singular vectors, U_0 turned against the IDF [V], in W's own precision."""
    moved = aligned_u0(spectrum.left[:, 0], idf) - spectrum.left[:, 0]
    rows = matrix.detach().double().cpu() + moved[:, None] * spectrum.direction
    return rows.to(matrix.device, matrix.dtype)


def alignment(dial: Dial, formula: str = "bm25") -> RowChange:
    """The change that aligns a ranker with the IDF that its dial was made by."""
    known = by_row(dial.idf, formula, len(dial.u0))
    tokens = torch.isfinite(known).nonzero()[:, 0]
    moved = aligned_u0(dial.u0, known)[tokens] - dial.u0[tokens]
    return RowChange(tuple(tokens.tolist()), moved[:, None] * dial.spectrum.direction)


def by_row(idf: TokenIdf, formula: str, rows: int) -> Tensor:
    """The IDF of each row of an embedding matrix, which may have more rows than the tokenizer has tokens."""
    found = torch.full((rows,), torch.nan, dtype=torch.float64)
    known = torch.from_numpy(idf.of(formula))[:rows]
    found[: len(known)] = known
    return found


def alignment_fit(dial: Dial, change: RowChange, formula: str) -> AlignmentFit:
    """How r of U_0 with the IDF changes; by a new SVD is what somebody finds who does not know the old matrix."""
    before = idf_correlation(dial.spectrum, dial.idf, formula=formula)
    along = dial.spectrum.left.clone()
    along[:, 0] = aligned_u0(dial.u0, by_row(dial.idf, formula, len(dial.u0)))
    after = idf_correlation(Spectrum(along, dial.spectrum.values, dial.spectrum.right), dial.idf, formula=formula)
    with applied(dial.ranker, change):
        anew = idf_correlation(oriented_spectrum(dial.ranker, dial.idf), dial.idf, formula=formula)
    return AlignmentFit(
        formula, len(change.tokens), float(change.norms.mean()), finite(before.r), finite(after.r), finite(anew.r),
        before.n,
    )  # fmt: skip
