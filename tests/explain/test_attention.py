"""A head's attention is Hugging Face's own, with the tokens that it is between."""

import numpy as np
import pytest
import torch

from tests.cli.run import one_line, whyrank
from whyrank.core.errors import UserError
from whyrank.explain.attention import Attention, attention

QUERY, TEXT = "how big is berlin", "Berlin has 3.5 million inhabitants."


@pytest.mark.parametrize("head", ["0.3", "L11.H5"])
def test_the_pattern_is_hugging_faces_own(real, head):
    ranker = real("ce-minilm-l12")
    found = attention(ranker, head, QUERY, TEXT)
    inputs = ranker.batch(ranker.pieces.pairs([(QUERY, TEXT)]))
    ranker.model.set_attn_implementation("eager")
    with torch.no_grad():
        types = {"input_ids": inputs.ids, "token_type_ids": inputs.types}
        theirs = ranker.model(**types, output_attentions=True).attentions
    ranker.model.set_attn_implementation("sdpa")
    layer, number = (int(part) for part in head.replace("L", "").replace("H", "").split("."))
    np.testing.assert_allclose(found.pattern, theirs[layer][0, number], atol=1e-5)
    assert [token.text for token in found.tokens] == ranker.trace([(QUERY, TEXT)]).tokens[0]
    assert [token.role for token in found.tokens[:3]] == ["special", "query", "query"]
    assert np.allclose(np.sum(found.pattern, axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("side", ["query", "document"])
def test_encoders_apart_are_opened_on_one_side(real, side):
    found = attention(real("bi-minilm-l3"), "1.2", QUERY, TEXT, side=side)
    assert {token.role for token in found.tokens} == {"special", side}
    assert ("berlin" in [token.text for token in found.tokens]) and found.cut == 0


def test_a_long_document_is_cut_and_drawn_by_its_strongest_tokens(real):
    found = attention(real("ce-minilm-l12"), "4.9", QUERY, f"{TEXT} " * 100)
    assert len(found.tokens) == 512 and found.cut > 0 and found.tokens[-1].role == "special"
    assert len(found.plot().get_xticklabels()) <= 36


def test_it_is_saved_read_and_shown(real, tmp_path):
    found = attention(real("bi-minilm-l3"), "0.0", QUERY, TEXT, out=tmp_path / "a")
    assert Attention.read(tmp_path / "a") == found
    assert "Its strongest link" in repr(found) and "<svg" in found._repr_html_()
    page = (tmp_path / "a" / "report.html").read_text()
    assert page.index("strongest link") < page.index("<svg")
    assert len(found.to_pandas()) == len(found.tokens) ** 2


@pytest.mark.parametrize(
    ("head", "message"), [("99.0", "layer"), ("x", "is not a head"), ("0.1,0.2", "2 heads"), ("", "0 heads")]
)
def test_a_wrong_head_is_refused(real, head, message):
    with pytest.raises(UserError, match=message):
        attention(real("bi-minilm-l3"), head, QUERY, TEXT)


def test_the_command(tmp_path):
    words = ("attention", "--ranker", "bi-minilm-l3", "--query", QUERY)
    done = whyrank(*words, "--head", "1.2", "--doc", TEXT, cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.startswith("L1.H2: of the attention of words"), done.stderr
    assert "cannot be opened" in one_line(
        whyrank("attention", "--ranker", "bm25", "--query", QUERY, "--head", "1.2", "--doc", TEXT)
    )
