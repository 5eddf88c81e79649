"""DRMM against loops over words and bins, on word pieces and on words of a file."""

import math

import pytest
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.pre_tokenizers import Whitespace

from tests.checkpoints import tokenizer
from tests.learning.baselines import (
    ODD,
    PAIRS,
    built,
    check_batch_mates,
    check_learning,
    check_round_trip,
    ingredients,
    scores,
)
from tests.learning.small import DOCUMENTS
from tests.tiny import ARCHITECTURES, tiny_model
from whyrank.collections.collection import Collection
from whyrank.core.errors import UserError
from whyrank.learning.models.catalogue import model_class
from whyrank.learning.models.drmm import Drmm, DrmmSettings, inverse_frequencies
from whyrank.learning.models.lexicon import PieceLexicon
from whyrank.learning.models.word_lexicon import hashed_vector
from whyrank.text.words import words

#: Words of the collection, one that it lacks (never), and opposite, equal and zero vectors; people has no line.
FILE = """\
the 0.1 0.2 -0.3
cat 1 2 3
Dog -1 -2 -3
red 2 4 6
blue 0 0 0
how 0.5 -0.1 0.2
house 1 0 -1
never 1 1 1
"""
MATCHING = [*PAIRS, ("cat dog red", "cat dog red blue house cat zyx"), ("zyx people", "people zyx zyx the wvu")]


def on_words(folder, **settings):
    (folder / "vectors.txt").write_text(FILE)
    return built("drmm", folder, vectors=str(folder / "vectors.txt"), **settings)


def cosine(x, y):
    sizes = math.sqrt(sum(a * a for a in x)) * math.sqrt(sum(b * b for b in y))
    return sum(a * b for a, b in zip(x, y, strict=True)) / sizes if sizes else 0.0


def literal_histogram(unit, document, vector):
    """log(1 + count) of 29 bins on [-1, 1) and of exact matches."""
    counts = [0] * 30
    for other in document:
        if other == unit:
            counts[29] += 1
        else:
            similar = min(max(cosine(vector(unit), vector(other)), -1), 1 - 1e-12)
            counts[next(b for b in range(29) if similar < -1 + 2 * (b + 1) / 29)] += 1
    return [math.log(1 + count) for count in counts]


def literal_score(network, query, document, vector, idf):
    """30-5-1 with tanh twice, and a softmax of w IDF over the query's units."""
    W1, b1, W2, b2 = (part.tolist() for part in network.value.parameters())
    values = []
    for unit in query:
        h = literal_histogram(unit, document, vector)
        inner = [
            math.tanh(sum(w * x for w, x in zip(row, h, strict=True)) + b) for row, b in zip(W1, b1, strict=True)
        ]
        values.append(math.tanh(sum(w * x for w, x in zip(W2[0], inner, strict=True)) + b2[0]))
    gates = [math.exp(network.gate.item() * idf(unit)) for unit in query]
    return sum(gate * value for gate, value in zip(gates, values, strict=True)) / sum(gates) if query else 0.0


def literal_idf(units_of):
    """ln((N - df + 0.5)/(df + 0.5) + 1) by going through all documents for a unit."""
    texts = [units_of(text) for text in DOCUMENTS.values()]

    def idf(unit):
        df = sum(unit in text for text in texts)
        return math.log((len(texts) - df + 0.5) / (df + 0.5) + 1)

    return idf


def shaken(network):
    """With gates and biases that matter."""
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for weight in network.parameters():
            weight.copy_(torch.randn(weight.shape, generator=generator) * 0.5)
    return network


def test_on_word_pieces_the_score_is_the_papers(tmp_path):
    network = shaken(built("drmm", tmp_path))
    one = tokenizer("bert")

    def units(text):
        return one(text, add_special_tokens=False)["input_ids"]

    rows = tiny_model("bert").get_input_embeddings().weight.tolist()
    expected = [
        literal_score(network, units(query), units(text), rows.__getitem__, literal_idf(units))
        for query, text in MATCHING + ODD
    ]
    torch.testing.assert_close(scores(network, MATCHING + ODD), expected, rtol=1e-4, atol=1e-5)


def test_on_words_of_a_file_the_score_is_the_papers(tmp_path):
    network = shaken(on_words(tmp_path))
    lines = [line.lower().split() for line in FILE.splitlines()]
    known = {word: [float(number) for number in numbers] for word, *numbers in lines}

    def vector(word):
        return known[word] if word in known and word != "never" else hashed_vector(word, 3).tolist()

    expected = [
        literal_score(network, words(query), words(text), vector, literal_idf(words))
        for query, text in MATCHING + ODD
    ]
    torch.testing.assert_close(scores(network, MATCHING + ODD), expected, rtol=1e-4, atol=1e-5)


def test_an_exact_match_counts_in_its_own_bin_even_for_words_that_no_file_has(tmp_path):
    network = on_words(tmp_path)
    batch = network.read([("zyx cat", "zyx cat zyx tree")])
    counts = network.histograms(batch).expm1().round()
    assert counts[0, :, 29].tolist() == [2, 1] and counts.sum(dim=2).tolist() == [[4, 4]]


def test_an_equal_vector_of_another_word_is_in_the_last_bin_of_cosines(tmp_path):
    network = on_words(tmp_path)
    counts = network.histograms(network.read([("cat", "red dog blue")])).expm1().round()[0, 0]
    assert counts[28] == 1 and counts[0] == 1 and counts[14] == 1 and counts.sum() == 3


def test_a_cosine_next_to_the_edge_of_a_bin_stays_on_its_side(tmp_path):
    """Single precision, whose rounding depends on the batch, would put both of these into the upper bin."""
    (tmp_path / "vectors.txt").write_text("cat 1 0\ndog -1e-9 1\nred 1e-9 1\n")
    network = built("drmm", tmp_path, vectors=str(tmp_path / "vectors.txt"), bins=2)
    counts = network.histograms(network.read([("cat", "dog red")])).expm1().round()
    assert counts[0, 0].tolist() == [1, 1, 0]


def test_every_unit_of_a_batch_has_its_vector_looked_up_once(tmp_path, monkeypatch):
    """Not once a place it stands in: [B, n, d] in double precision was most of the work."""
    network, looked_up = on_words(tmp_path), []
    real = network.lexicon.embed
    monkeypatch.setattr(
        network.lexicon, "embed", lambda some, new: looked_up.extend(some.flatten().tolist()) or real(some, new)
    )
    batch = network.read([("cat dog", "cat dog red " * 9), ("cat zyx", "the zyx red " * 9)])
    network.histograms(batch)
    query, document = set(batch.query.flatten().tolist()), set(batch.document.flatten().tolist())
    assert len(looked_up) == len(query) + len(document) < 12


@pytest.mark.parametrize("name", ["drmm", "conv-knrm"])
@pytest.mark.parametrize("vectors", [True, False])
def test_the_collection_is_read_once_for_all_models_of_the_same_ingredients(tmp_path, monkeypatch, name, vectors):
    (tmp_path / "vectors.txt").write_text(FILE)
    given, passes, chosen = ingredients(tmp_path), [], model_class(name)
    real = given.collection.documents
    monkeypatch.setattr(given.collection, "documents", lambda: passes.append(1) or real())
    how = chosen.Settings(vectors=str(tmp_path / "vectors.txt") if vectors else "")
    first = chosen.of(how, given)
    before, start = len(passes), first.lexicon.vectors.detach().clone()
    assert before == (name == "drmm") + vectors
    with torch.no_grad():
        first.lexicon.vectors.add_(1)
    second = chosen.of(how, given)
    assert len(passes) == before and torch.equal(second.lexicon.vectors, start), "and none changes another's"


@pytest.mark.parametrize("kind", ["pieces", "words"])
def test_texts_that_come_again_are_not_parted_again(tmp_path, kind, monkeypatch):
    network = built("drmm", tmp_path) if kind == "pieces" else on_words(tmp_path)
    before = scores(network, MATCHING + ODD)
    monkeypatch.setattr(network.lexicon, "units", lambda text: pytest.fail(f"{text!r} was parted before"))
    assert scores(network, MATCHING + ODD) == before


@pytest.mark.parametrize("kind", ["pieces", "words"])
def test_batch_mates_do_not_matter(tmp_path, kind):
    network = built("drmm", tmp_path) if kind == "pieces" else on_words(tmp_path)
    check_batch_mates(shaken(network), MATCHING + ODD)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_saved_state_of_word_pieces_scores_the_same(tmp_path, architecture):
    check_round_trip(built("drmm", tmp_path, architecture), tmp_path, architecture, MATCHING + ODD)


def test_a_saved_state_of_words_scores_the_same_without_the_file(tmp_path):
    network = on_words(tmp_path)
    (tmp_path / "vectors.txt").unlink()
    check_round_trip(network, tmp_path, pairs=MATCHING + ODD)


@pytest.mark.parametrize("kind", ["pieces", "words"])
def test_all_but_the_vectors_learns(tmp_path, kind):
    network = built("drmm", tmp_path) if kind == "pieces" else on_words(tmp_path)
    check_learning(network)
    assert sorted(name for name, _ in network.named_parameters()) == [
        "gate", "value.0.bias", "value.0.weight", "value.2.bias", "value.2.weight",
    ]  # fmt: skip


def test_the_rarest_word_of_a_query_has_the_largest_gate(tmp_path):
    network = built("drmm", tmp_path)
    batch = network.read([("the zyx cat", "tree"), ("cat", "tree")])
    gates = network.gates(batch.query, batch.query >= 0)
    assert gates[0].argmax() == 1 and gates[1].tolist() == [1, 0, 0]
    torch.testing.assert_close(gates.sum(dim=1), torch.ones(2))


def test_a_piece_is_in_every_document_that_it_is_matched_in():
    """`em` of embed is the unit `em`, which is a word, too."""
    vocabulary = {piece: number for number, piece in enumerate(["[UNK]", "em", "##bed", "dash"])}
    pieces = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]"))
    pieces.pre_tokenizer = Whitespace()
    texts = ["embed embed", "em dash", "embed em", "dash", "never"]
    some = Collection.from_records("some", {f"d{i}": text for i, text in enumerate(texts)}, {}, {})
    lexicon = PieceLexicon(pieces, torch.zeros(len(vocabulary) + 1, 2), learned=False)
    counted, documents = lexicon.frequencies(some)
    parted = [set(lexicon.units(text)) for text in texts]
    assert counted.tolist() == [sum(unit in units for units in parted) for unit in range(5)] == [1, 3, 2, 2, 0]
    assert documents == 5


def test_idf_falls_with_frequency_and_ends_with_that_of_no_document():
    idf = inverse_frequencies(torch.tensor([0.0, 1, 5, 10], dtype=torch.float64), 10)
    assert idf.tolist() == pytest.approx(
        [math.log(22), math.log(9.5 / 1.5 + 1), math.log(2), math.log(0.5 / 10.5 + 1), math.log(22)]
    )


def test_without_a_collection_there_is_no_idf(tmp_path):
    with pytest.raises(UserError, match="collection"):
        Drmm.of(DrmmSettings(), ingredients(tmp_path, collection=None))


@pytest.mark.parametrize("wrong", [{"bins": 0}, {"hidden": 0}, {"max_length": 0}])
def test_settings_that_cannot_be_are_refused(wrong):
    with pytest.raises(UserError):
        DrmmSettings(**wrong)
