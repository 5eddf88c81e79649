"""Chunks: nothing lost, nothing twice, every token in its role, and always the same."""

from itertools import chain

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import BPE, WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import RobertaProcessing
from tokenizers.trainers import BpeTrainer

from tests.checkpoints import tokenizer as tiny_tokenizer
from tests.tiny import ARCHITECTURES
from whyrank.core.errors import UserError
from whyrank.learning.models.chunker import BESIDE_TOKENS, Chunker
from whyrank.learning.models.chunks import Chunks
from whyrank.text.pieces import Pieces

WORDS = [f"w{i}" for i in range(60)]
LONG = " ".join(WORDS)


def bert(max_length=24):
    """[CLS] a [SEP] b [SEP], one token a word; w0 is number 4."""
    return Pieces(_word_level(("[PAD]", "[CLS]", "[SEP]", "[UNK]")), max_length, 0)


def roberta(max_length=24, model=None):
    """<s> a </s></s> b </s>, without token types."""
    one = model or _word_level(("<s>", "<pad>", "</s>", "[UNK]"), bert=False)
    return Pieces(one, max_length, 1, types=False)


def _word_level(special, bert=True):
    ids = {word: number for number, word in enumerate([*special, *WORDS])}
    one = Tokenizer(WordLevel(ids, unk_token="[UNK]"))
    one.pre_tokenizer = Whitespace()
    if bert:
        one.post_processor = tiny_tokenizer("bert").backend_tokenizer.post_processor
    else:
        one.post_processor = RobertaProcessing(("</s>", 2), ("<s>", 0))
    return one


def words_of(pieces, chunks, mask):
    """The tokens of each chunk under a mask."""
    return [
        [pieces.tokenizer.id_to_token(number) for number in row[use].tolist()]
        for row, use in zip(chunks.inputs.ids, mask, strict=True)
    ]


def joined(lists):
    return list(chain.from_iterable(lists))


def test_tiny_berts_template_has_the_numbers_this_file_thinks():
    pieces = bert()
    [row] = words_of(pieces, chunks := Chunker(pieces, 24).of([("w0", "w1")]), torch.ones(1, 5, dtype=torch.bool))
    assert row == ["[CLS]", "w0", "[SEP]", "w1", "[SEP]"] and chunks.inputs.types.tolist() == [[0, 0, 0, 1, 1]]


@pytest.mark.parametrize(("pieces", "special"), [(bert(), 3), (roberta(), 4)])
def test_chunks_hold_the_document_once_and_the_query_each_time(pieces, special):
    chunks = Chunker(pieces, 24, most=99).of([("w3 w1", LONG)])
    documents = words_of(pieces, chunks, chunks.document)
    assert joined(documents) == WORDS
    assert [len(part) for part in documents[:-1]] == [24 - special - 2] * (len(documents) - 1)
    assert words_of(pieces, chunks, chunks.query) == [["w3", "w1"]] * len(chunks)
    assert chunks.cut == 0


@pytest.mark.parametrize(
    ("pieces", "cls", "middle", "final"),
    [(bert(), "[CLS]", ["[SEP]"], ["[SEP]"]), (roberta(), "<s>", ["</s>", "</s>"], ["</s>"])],
)
def test_each_special_token_has_its_role(pieces, cls, middle, final):
    chunks = Chunker(pieces, 24, most=2).of([("w3", "w5 w6"), ("w1 w2", LONG)])
    assert words_of(pieces, chunks, chunks.middle) == [middle] * 3
    assert words_of(pieces, chunks, chunks.final) == [final] * 3
    first = torch.zeros_like(chunks.real)
    first[:, 0] = True
    assert words_of(pieces, chunks, first) == [[cls]] * 3
    roles = torch.stack([first, chunks.query, chunks.middle, chunks.document, chunks.final])
    assert torch.equal(roles.sum(dim=0), chunks.real.long())
    for row in range(3):  # [CLS], then query, middle, document, final
        kinds = roles[:, row].long().argmax(dim=0)[chunks.real[row]].tolist()
        assert kinds == sorted(kinds)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_one_chunk_is_what_the_tokenizer_itself_makes(architecture):
    one = tiny_tokenizer(architecture)
    pieces = Pieces(one.backend_tokenizer, 24, one.pad_token_id, "token_type_ids" in one.model_input_names)
    pairs = [("how many people", "many people live in berlin"), ("cat", "the cat sat")]
    inputs = Chunker(pieces, 24).of(pairs).inputs
    expected = one([q for q, _ in pairs], [d for _, d in pairs], padding=True, return_tensors="pt")
    assert torch.equal(inputs.ids, expected["input_ids"])
    assert torch.equal(inputs.attention_mask.long(), expected["attention_mask"])
    assert torch.equal(inputs.types, expected.get("token_type_ids", torch.zeros_like(inputs.ids)))


@pytest.mark.parametrize("pieces", [bert(), roberta()])
def test_an_empty_side_still_has_a_chunk(pieces):
    chunks = Chunker(pieces, 24, most=3).of([("w1", ""), ("", "w2"), ("", ""), ("w1", "  ")])
    assert chunks.owner.tolist() == [0, 1, 2, 3] and chunks.cut == 0
    assert words_of(pieces, chunks, chunks.query) == [["w1"], [], [], ["w1"]]
    assert words_of(pieces, chunks, chunks.document) == [[], ["w2"], [], []]
    assert bool(chunks.final.sum(dim=1).eq(1).all()) and len(set(chunks.middle.sum(dim=1).tolist())) == 1


def test_passages_of_an_empty_document_are_one():
    chunks = Chunker(bert(), 24, most=3, words=5, stride=2).of([("w1", ""), ("w1", " ")])
    assert len(chunks) == 2 and not chunks.document.any() and chunks.cut == 0


@pytest.mark.parametrize("pieces", [bert(), roberta()])
def test_a_query_longer_than_its_room_is_cut_to_it_and_counted(pieces):
    chunks = Chunker(pieces, 24, most=99).of([(LONG, LONG), (" ".join(WORDS[:8]), "w1"), (LONG, "w1")])
    queries = words_of(pieces, chunks, chunks.query)
    assert all(query == WORDS[: 24 // 2 - 4] for query in queries)
    assert joined(words_of(pieces, chunks, chunks.document & (chunks.owner == 0)[:, None])) == WORDS
    assert chunks.cut == 2


def test_what_does_not_fit_into_the_most_chunks_is_left_and_counted():
    pieces = bert()
    pairs = [("w1", LONG), ("w1", " ".join(WORDS[:40])), ("w1", " ".join(WORDS[:41]))]
    chunks = Chunker(pieces, 24, most=2).of(pairs)  # a chunk has room for 20 words
    assert chunks.owner.tolist() == [0, 0, 1, 1, 2, 2] and chunks.cut == 2
    assert [joined(words_of(pieces, chunks, chunks.document)[i : i + 2]) for i in (0, 2, 4)] == [WORDS[:40]] * 3
    assert Chunker(pieces, 24, most=1).of(pairs).cut == 3


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (1, [(0, 1)]),
        (10, [(0, 10)]),
        (11, [(0, 10), (4, 11)]),
        (14, [(0, 10), (4, 14)]),
        (15, [(0, 10), (4, 14), (8, 15)]),
    ],
)
def test_passages_start_every_stride_until_one_reaches_the_end(count, expected):
    pieces = bert()
    chunks = Chunker(pieces, 24, most=99, words=10, stride=4).of([("w1", "\n ".join(WORDS[:count]))])
    assert words_of(pieces, chunks, chunks.document) == [WORDS[a:b] for a, b in expected]
    assert chunks.cut == 0


@given(st.integers(1, 60), st.integers(1, 20), st.integers(1, 20))
@settings(max_examples=60, deadline=None)
def test_passages_hold_every_word_and_none_is_needless(count, size, stride):
    stride = min(size, stride)
    passages = [one.split() for one in Chunker(bert(), 24, 99, size, stride)._passages(" ".join(WORDS[:count]))]
    assert {word for passage in passages for word in passage} == set(WORDS[:count])
    assert all(len(passage) == min(size, count) for passage in passages[:-1])
    before = {word for passage in passages[:-1] for word in passage}
    assert before < set(WORDS[:count])


def test_a_passage_is_the_text_as_it_stands():
    chunker = Chunker(bert(), 24, 9, words=3, stride=2)
    assert chunker._passages(" w1  w2\nw3 ") == [" w1  w2\nw3 "]
    assert chunker._passages(" w1  w2\nw3 \t w4 ") == ["w1  w2\nw3", "w3 \t w4"]


@given(
    st.integers(10, 24), st.integers(1, 4), st.one_of(st.none(), st.integers(1, 20)), st.integers(1, 20),
    st.integers(0, 20), st.integers(0, 59), st.booleans(),
)  # fmt: skip
@settings(max_examples=300, deadline=None)
def test_what_is_no_longer_than_the_longest_is_read_whole(length, most, words, stride, asked, made, of_bert):
    pieces = bert() if of_bert else roberta()
    chunker = Chunker(pieces, length, most, words, words and min(words, stride))
    query, text = " ".join(WORDS[:asked]), " ".join(WORDS[:made])
    if chunker.cut_query(query) == query and len(pieces.whole(text, query=query)) <= chunker.longest:
        assert chunker.of([(query, text)]).cut == 0 and not chunker.cuts(query, text)
    assert chunker.cuts(query, text) == chunker.of([(query, text)]).cut


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ({}, 24),
        ({"most": 4}, 60),  # half of each chunk may be the query's: 4 x 12 of the document, and 12
        ({"most": 16, "words": 150, "stride": 75}, 24),  # no passage of 150 words fits
        ({"most": 16, "words": 12, "stride": 6}, 102),  # 12 words, 8 of a query and 4 signs do
        ({"most": 16, "words": 13, "stride": 6}, 24),
        ({"most": 1, "words": 13}, 13),
    ],
)
def test_the_longest_sequence_that_is_sure_to_be_read(how, expected):
    assert Chunker(bert(), 24, **how).longest == expected


def test_what_was_read_is_not_read_again_and_what_is_kept_is_bounded(monkeypatch):
    monkeypatch.setattr("whyrank.learning.models.chunker.KEPT_TOKENS", 12 + 2 * BESIDE_TOKENS)
    chunker, read = Chunker(bert(), 24, most=3), []
    once = chunker._chunks
    chunker._chunks = lambda query, text: read.append(text) or once(query, text)
    first = chunker.of([("w1", "w2 w3")])
    again = chunker.of([("w1", "w2 w3"), ("w1", "w2 w4")])
    assert read == ["w2 w3", "w2 w4"] and torch.equal(first.inputs.ids, again.inputs.ids[:1])
    chunker.of([("w1", "w9")])
    assert chunker._read.taken == 11 + 2 * BESIDE_TOKENS and len(chunker._read) == 2
    chunker.of([("w1", "w2 w3")])
    assert read == ["w2 w3", "w2 w4", "w9", "w2 w3"], "what was not asked for the longest went"


def test_a_query_is_cut_once():
    chunker, cut = Chunker(bert(), 24), []
    once = chunker._cut_query
    chunker._cut_query = lambda query: cut.append(query) or once(query)
    chunker.of([(LONG, f"w{i}") for i in range(5)])
    assert cut == [LONG]


def test_the_most_passages_and_the_passage_that_is_too_long_count_as_cut():
    pieces = bert()
    fewer = Chunker(pieces, 24, most=2, words=10, stride=5).of([("w1", LONG), ("w1", " ".join(WORDS[:15]))])
    assert fewer.owner.tolist() == [0, 0, 1, 1] and fewer.cut == 1
    long = Chunker(pieces, 24, most=9, words=30, stride=30).of([("w1", LONG), ("w1", "w2")])
    assert [len(one) for one in words_of(pieces, long, long.document)] == [20, 20, 1] and long.cut == 1


def test_the_same_texts_give_the_same_chunks_whatever_stands_beside_them():
    chunker = Chunker(bert(), 24, most=3)
    pairs = [("w1 w2", LONG), ("w5", "w6"), (LONG, "w9 w8")]
    together = chunker.of(pairs)
    chunker.pieces.texts([LONG], most=5)  # another reader of the same tokenizer
    for i, pair in enumerate(pairs):
        alone, mine = chunker.of([pair]), together.owner == i
        width = alone.inputs.ids.shape[1]
        assert torch.equal(together.inputs.ids[mine][:, :width], alone.inputs.ids)
        for name in ("query", "document", "middle", "final", "real"):
            assert torch.equal(getattr(together, name)[mine][:, :width], getattr(alone, name))
            assert not getattr(together, name)[mine][:, width:].any()


def test_the_tokenizers_own_limit_holds_too():
    assert Chunker(bert(max_length=16), 512).of([("w1", LONG)]).inputs.ids.shape[1] == 16


@pytest.mark.parametrize("length", [1, 8, 9])
def test_too_few_tokens_for_a_query_are_refused(length):
    with pytest.raises(UserError, match="10 or more"):
        Chunker(bert(), length)
    Chunker(bert(), 10).of([(LONG, LONG)])


@given(st.text("abcdé \U0001f600", max_size=120), st.text("abcdé ", max_size=80))
@settings(max_examples=80, deadline=None)
def test_pieces_inside_of_words_fit_too(query, text):
    """Where a cut query is tokenised again, its pieces may be others; a chunk fits all the same."""
    pieces = roberta(model=_byte_pairs())
    chunks = Chunker(pieces, 24, most=99).of([(query, text)])
    assert chunks.inputs.ids.shape[1] <= 24
    pieces.tokenizer.no_truncation()
    made = pieces.tokenizer.encode(text, add_special_tokens=False).ids
    assert chunks.inputs.ids[chunks.document].tolist() == made
    asked = pieces.tokenizer.encode(query, add_special_tokens=False).ids
    assert chunks.cut == (len(asked) > 8)
    if not chunks.cut:
        assert all(row[use].tolist() == asked for row, use in zip(chunks.inputs.ids, chunks.query, strict=True))


def _byte_pairs():
    one = Tokenizer(BPE(unk_token="[UNK]"))
    one.pre_tokenizer = Whitespace()
    trainer = BpeTrainer(
        vocab_size=60, special_tokens=["<s>", "<pad>", "</s>", "[UNK]"], show_progress=False, min_frequency=1
    )
    one.train_from_iterator(["abcab abcabd cabd bcda aabbc dcba é"] * 3, trainer)
    one.post_processor = RobertaProcessing(("</s>", 2), ("<s>", 0))
    return one


def three_examples() -> Chunks:
    """Two chunks, one, and three."""
    chunks = Chunker(bert(), 24, most=3).of([("w1", " ".join(WORDS[:30])), ("w1", "w2"), ("w1", LONG)])
    assert chunks.owner.tolist() == [0, 0, 1, 2, 2, 2]
    return chunks


def test_sums_means_and_firsts_are_of_each_examples_own_chunks():
    chunks = three_examples()
    values = torch.tensor([[1.0, 10], [2, 20], [3, 30], [4, 40], [5, 50], [6, 60]])
    assert chunks.sum_over_chunks(values).tolist() == [[3, 30], [3, 30], [15, 150]]
    assert chunks.mean_over_chunks(values).tolist() == [[1.5, 15], [3, 30], [5, 50]]
    assert chunks.counts.tolist() == [2, 1, 3] and chunks.first.tolist() == [0, 2, 3]
    assert chunks.mean_over_chunks(values[:, 0]).tolist() == [1.5, 3, 5]


def test_chunks_next_to_each_other_are_padded_and_marked():
    values = torch.tensor([1.0, 2, 3, 4, 5, 6], requires_grad=True)
    beside, there = three_examples().side_by_side(values)
    assert beside.tolist() == [[1, 2, 0], [3, 0, 0], [4, 5, 6]]
    assert there.tolist() == [[True, True, False], [True, False, False], [True] * 3]
    (beside * torch.arange(9.0).view(3, 3)).sum().backward()
    assert values.grad.tolist() == [0, 1, 3, 6, 7, 8]
    deep, _ = three_examples().side_by_side(torch.arange(12.0).view(6, 2))
    assert deep[2].tolist() == [[6, 7], [8, 9], [10, 11]] and deep.shape == (3, 3, 2)
