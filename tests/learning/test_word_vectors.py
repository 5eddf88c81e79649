"""Word vectors from files good and bad, and the words that a model knows by them."""

import gzip

import numpy as np
import pytest
import torch

from tests.learning.baselines import ingredients
from whyrank.collections.collection import Collection
from whyrank.core.errors import UserError
from whyrank.learning.models.word_lexicon import WordLexicon, hashed_vector, read_vectors


def written(folder, text, name="vectors.txt"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def as_lists(found):
    return {word: vector.tolist() for word, vector in found.items()}


GLOVE = "the 0.5 -1 2e-1\ncat 1 2 3\nDon't 0 0 0\n"
KNOWN = {"the": [0.5, -1, 0.2], "cat": [1, 2, 3], "don't": [0, 0, 0]}


@pytest.mark.parametrize("text", [GLOVE, "3 3\n" + GLOVE, GLOVE.replace("\n", " \r\n"), GLOVE.replace(" ", "\t")])
def test_glove_and_word2vec_files_are_read(tmp_path, text):
    found = as_lists(read_vectors(written(tmp_path, text)))
    assert list(found) == list(KNOWN)
    for word, vector in KNOWN.items():
        assert found[word] == pytest.approx(vector)


def test_a_packed_file_is_read(tmp_path):
    (tmp_path / "vectors.gz").write_bytes(gzip.compress(GLOVE.encode()))
    assert as_lists(read_vectors(tmp_path / "vectors.gz"))["cat"] == [1, 2, 3]


def test_only_wanted_words_are_kept_and_the_first_line_of_a_word_counts(tmp_path):
    path = written(tmp_path, "Cat 1 1\ncat 2 2\ndog 3 3\ndog 4 4\n")
    assert as_lists(read_vectors(path, {"cat", "tree"})) == {"cat": [1, 1]}
    assert as_lists(read_vectors(path)) == {"cat": [1, 1], "dog": [3, 3]}


def test_words_with_spaces_are_passed_over_as_words_of_their_own(tmp_path):
    path = written(tmp_path, "a 1 2\n. . . 3 4\nat name@domain 5 6\nb c 7 8\n")
    assert as_lists(read_vectors(path, {"a", "b"})) == {"a": [1, 2]}


def test_one_dimension_and_no_header_is_not_taken_for_a_header(tmp_path):
    assert as_lists(read_vectors(written(tmp_path, "cat 3\n7 5\n"))) == {"cat": [3], "7": [5]}


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("cat 1 2 3\ndog 1 2\n", 2, "2 numbers after the word, not 3"),
        ("2 3\ncat 1 2 3\n\ndog 1 2 3 4\n", 4, "4 numbers after the word, not 3"),
        ("cat 1 2 3\ndog 1 zwei 3\n", 2, "'zwei' is not a finite number"),
        ("cat 1 nan 3\n", 1, "'nan' is not a finite number"),
        ("cat 1 2 inf\n", 1, "'inf'"),
        ("cat 1  3\n", 1, "'' is not a finite number"),
        ("cat\n", 1, "0 numbers after the word"),
        ("cat,1,2\n", 1, "0 numbers after the word"),
        ("cat 1 2\ndog\n", 2, "0 numbers after the word, not 2"),
    ],
)
def test_a_bad_line_is_named(tmp_path, text, line, what):
    path = written(tmp_path, text)
    with pytest.raises(UserError) as error:
        read_vectors(path)
    assert error.value.where == f"{path}:{line}" and what in error.value.what and error.value.todo
    assert "\n" not in str(error.value)


def test_files_without_what_is_asked_for_are_refused(tmp_path):
    for text in ("", "\n\n", "100 300\n"):
        with pytest.raises(UserError, match="no word vector"):
            read_vectors(written(tmp_path, text))
    with pytest.raises(UserError, match="no word of the collection"):
        read_vectors(written(tmp_path, GLOVE), {"zebra"})
    with pytest.raises(UserError, match="no such file"):
        read_vectors(tmp_path / "nowhere.txt")
    (tmp_path / "binary").write_bytes(b"2 2\ncat \xff\xfe\x00\x80")
    with pytest.raises(UserError, match="not UTF-8"):
        read_vectors(tmp_path / "binary")


def test_an_unknown_word_is_a_unit_vector_of_its_letters_alone_for_ever():
    vector = hashed_vector("zyx", 300)
    assert float(vector.norm()) == pytest.approx(1, abs=1e-6)
    assert torch.equal(vector, hashed_vector("zyx", 300))
    assert vector[:3].tolist() == pytest.approx([0.0960046, -0.0748942, 0.0290456], abs=1e-6)
    others = torch.stack([hashed_vector(f"word{i}", 300) for i in range(50)])
    cosines = (others @ others.T - torch.eye(50)).abs()
    assert float(cosines.max()) < 0.35 and float(cosines.mean()) < 0.1


COLLECTION = Collection.from_records(
    "few", {"d1": "The cat! A cat.", "d2": "the dog", "d3": "a zebra"}, {"q1": "Cat quagga", "q2": "the zebra"}
)
VECTORS = "the 3 4\ncat 0 5\nmoon 9 9\nzebra 5 0\n"


def few(folder):
    given = ingredients(folder, collection=COLLECTION)
    return WordLexicon.of(str(written(folder, VECTORS)), given, learned=False)


def test_a_lexicon_has_the_collections_words_of_the_file_and_all_of_its_queries(tmp_path):
    lexicon = few(tmp_path)
    assert list(lexicon.rows) == ["the", "cat", "zebra", "quagga"]
    assert lexicon.vectors[:3].tolist() == [[3, 4], [0, 5], [5, 0]]
    torch.testing.assert_close(lexicon.vectors[3], hashed_vector("quagga", 2) * 5)
    frequencies, documents = lexicon.frequencies(COLLECTION)
    assert frequencies.tolist() == [2, 1, 1, 0] and documents == 3


def test_a_lexicon_without_a_collection_has_the_whole_file(tmp_path):
    given = ingredients(tmp_path, collection=None)
    lexicon = WordLexicon.of(str(written(tmp_path, VECTORS)), given, learned=True)
    assert list(lexicon.rows) == ["the", "cat", "moon", "zebra"] and lexicon.vectors.requires_grad


def test_unknown_words_are_numbered_after_the_known_and_the_same_word_has_one_number(tmp_path):
    reading = few(tmp_path).read([("The dog", "dog cat gnu"), ("gnu", "")], most=9)
    assert reading.query.tolist() == [[0, 4], [5, -1]]
    assert reading.document.tolist() == [[4, 1, 5], [-1, -1, -1]]
    torch.testing.assert_close(
        reading.unknown, torch.stack([hashed_vector("dog", 2), hashed_vector("gnu", 2)]) * 5
    )
    assert reading.examples == 2 and reading.cut == 0


def test_embedding_gives_known_and_unknown_their_vectors_and_padding_zeros(tmp_path):
    lexicon = few(tmp_path)
    reading = lexicon.read([("cat", "gnu the cat"), ("cat", "the")], most=9)
    rows = lexicon.embed(reading.document, reading.unknown)
    expected = torch.stack([hashed_vector("gnu", 2) * 5, torch.tensor([3.0, 4]), torch.tensor([0.0, 5])])
    torch.testing.assert_close(rows[0], expected)
    assert rows[1].tolist() == [[3, 4], [0, 0], [0, 0]]


def test_texts_longer_than_the_most_units_are_cut_and_counted(tmp_path):
    reading = few(tmp_path).read(
        [("cat", "the cat the cat"), ("the the the the", "cat"), ("cat", "cat the")], most=3
    )
    assert reading.document.shape == (3, 3) and reading.query.shape == (3, 3) and reading.cut == 2
    assert reading.document[0].tolist() == [0, 1, 0]


def test_the_spelling_goes_through_the_state_whatever_the_letters(tmp_path):
    lexicon = WordLexicon(["naïve", "日本", "don't", "x"], torch.zeros(4, 2), torch.ones(()), learned=False)
    state = lexicon.get_extra_state()
    assert state.dtype == torch.uint8 and np.array_equal(state[:2], list(b"na"))
    again = WordLexicon([], torch.zeros(4, 2), torch.ones(()), learned=False)
    again.set_extra_state(state)
    assert again.rows == lexicon.rows
