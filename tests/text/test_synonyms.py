"""The synonym of a term is none of the query's words and no form of the term; a user's file wins."""

import pytest

from whyrank.core.errors import UserError
from whyrank.text.synonyms import choose_synonym, read_synonyms


def test_the_nearest_usable_candidate_is_chosen():
    near = {"auto": 0.4, "automobile": 0.9, "cars": 0.99, "machine": 0.5, "fix": 0.95}
    cosine = lambda term, word: near.get(word)  # noqa: E731
    assert choose_synonym("car", "fix my car", near, cosine) == "automobile"
    assert choose_synonym("car", "fix my automobile car", near, cosine) == "machine"
    assert choose_synonym("car", "fix my car", ["cars", "fix"], cosine) is None


@pytest.mark.parametrize(("term", "form"), [("drip", "dripping"), ("communism", "communist"), ("house", "houses")])
def test_forms_of_the_term_are_no_synonyms(term, form):
    assert choose_synonym(term, term, [form]) is None


def test_a_users_file_wins(tmp_path):
    (tmp_path / "s.tsv").write_text("car\tcar, wagon, auto\n")
    own = read_synonyms(tmp_path / "s.tsv")
    assert choose_synonym("car", "my car", ["automobile"], lambda a, b: 1.0, own) == "wagon"


@pytest.mark.parametrize("line", ["car automobile", "car\t", "\tauto", "car\t , "])
def test_a_malformed_line_is_named(tmp_path, line):
    (tmp_path / "s.tsv").write_text("tap\tfaucet\n" + line + "\n")
    with pytest.raises(UserError, match=r"s\.tsv:2: "):
        read_synonyms(tmp_path / "s.tsv")


def test_wordnet_knows_what_it_knows(real):
    real("bi-minilm-l6")  # skips where the index is out of reach
    from whyrank.text.wordnet import wordnet_synonyms

    assert "automobile" in wordnet_synonyms("car")
    assert "spigot" in wordnet_synonyms("tap")
    assert wordnet_synonyms("qwertyuiop") == []
