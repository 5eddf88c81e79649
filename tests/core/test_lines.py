"""Lines of text: limited in length, JSON that says what it is, and nothing that only Python takes for a number."""

import gzip
import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.run import one_line, whyrank
from whyrank.axioms.pair import read_pairs
from whyrank.collections import read_documents, read_qrels, read_queries, read_run
from whyrank.collections.trec import write_run
from whyrank.core.errors import UserError
from whyrank.core.lines import MAX_LINE, read_json_lines, read_lines

MB = 2**20
BOMB = 300 * MB


@pytest.fixture(scope="module")
def bomb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """300 MB of one line in a third of a megabyte."""
    path = tmp_path_factory.mktemp("bomb") / "bomb.gz"
    with gzip.open(path, "wb", compresslevel=6) as file:
        file.write(b'{"_id": "1", "text": "')
        for _ in range(BOMB // MB):
            file.write(b"a" * MB)
        file.write(b'"}\n')
    assert path.stat().st_size < MB
    return path


def peak_megabytes(code: str, *arguments: Path | str) -> tuple[float, str]:
    """The peak resident memory of a Python process of its own, and what it said."""
    program = "import resource, sys; " + code + (
        "\nprint(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, file=sys.stderr)"
    )  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return float(done.stderr.splitlines()[-1]), done.stdout


@pytest.mark.parametrize(
    "read",
    [
        "from whyrank.collections import read_run as read",
        "from whyrank.collections import read_qrels as read",
        "from whyrank.collections import read_queries as read",
        "from whyrank.collections import open_collection as read",
        "from whyrank.axioms.pair import read_pairs as read",
        "from whyrank.text.synonyms import read_synonyms as read",
    ],
)
def test_a_gzip_bomb_is_refused_at_its_line_in_little_memory(bomb: Path, read: str) -> None:
    code = f"""
from whyrank.core.errors import UserError
{read}
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
try:
    read(sys.argv[1])
except UserError as error:
    print(error)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - before)"""
    _, said = peak_megabytes(code, bomb)
    complaint, grown = said.splitlines()
    assert complaint.startswith(f"{bomb}:1: this line has more than 16 MB; ")
    assert "--max-line" in complaint
    assert float(grown) < 100


def test_a_command_refuses_a_gzip_bomb_in_one_line(bomb: Path) -> None:
    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (2048 * MB, 2048 * MB))

    done = subprocess.run(
        [sys.executable, "-m", "whyrank", "eval", str(bomb), "--qrels", "demo"],
        capture_output=True, text=True, timeout=120, preexec_fn=limited,
    )  # fmt: skip
    assert "bomb.gz:1: this line has more than 16 MB" in one_line(done)


def test_the_limit_can_be_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = tmp_path / "long.trec"
    run.write_text(f"1 Q0 d 1 1.0 {'t' * (2 * MB)}\n")
    assert list(read_run(run)) == ["1"]
    monkeypatch.setenv(MAX_LINE, "1")
    with pytest.raises(UserError, match=r"long.trec:1: this line has more than 1 MB"):
        read_run(run)
    monkeypatch.delenv(MAX_LINE)
    said = one_line(whyrank("--max-line", 1, "eval", run, "--qrels", "demo"))
    assert "long.trec:1: this line has more than 1 MB" in said
    assert "1048576" not in one_line(whyrank("--max-line", 3, "eval", run, "--qrels", "demo"))
    monkeypatch.setenv(MAX_LINE, "1e3")
    with pytest.raises(UserError, match=r"WHYRANK_MAX_LINE is '1e3'; give megabytes, such as 16"):
        read_run(run)


def test_a_block_of_mark_up_is_limited_as_a_line_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MAX_LINE, "1")
    path = tmp_path / "docs.sgml"
    short = "".join(f"<DOC>\n<DOCNO>{i}</DOCNO>\n{'word ' * 60_000}\n</DOC>\n" for i in range(5))
    path.write_text(short)
    assert sum(1 for _ in read_documents(path)) == 5
    path.write_text("\n<DOC>\n<DOCNO>1</DOCNO>\n" + ("word " * 60_000 + "\n") * 5 + "</DOC>\n")
    with pytest.raises(UserError, match=r"docs.sgml:2: the block that begins here has more than 1 MB"):
        list(read_documents(path))


def documents(path: Path) -> object:
    return list(read_documents(path))


@pytest.mark.parametrize(
    ("read", "content", "place", "says"),
    [
        (documents, '{"_id": "1", "text": "a", "text": "b"}', 1, 'the key "text" stands twice'),
        (read_pairs, '{"id": 1, "id": 2}', 1, 'the key "id" stands twice'),
        (documents, '{"_id": "1", "text": "a", "n": NaN}', 1, "NaN is not a number"),
        (documents, '{"_id": "1", "text": "a", "n": ' + "[" * 5000 + "]" * 5000 + "}", 1, "nested more than"),
        (documents, '{"_id": "a\\u0000b", "text": "x"}', 1, "holds the character U+0000"),
        (documents, '{"_id": "a\\ufeffb", "text": "x"}', 1, "holds the character U+FEFF"),
        (documents, '{"_id": "a\\nb", "text": "x"}', 1, "holds the character U+000A"),
        (documents, '{"_id": "a\\u2028b", "text": "x"}', 1, "holds the character U+2028"),
        (documents, "1\tx\n\ufeff2\ty", 2, "holds the character U+FEFF"),
        (read_queries, "a\x1bb\tx", 1, "holds the character U+001B"),
        (read_queries, "<top><num>a\x00b<title>x</top>", 1, "holds the character U+0000"),
        (read_pairs, '{"id": "a\\u0000", "query": "a", "baseline": "b", "perturbed": "c"}', 1, "U+0000"),
        (read_qrels, "q 0 d\x00 1", 1, "the character U+0000"),
        (read_qrels, "q 0 d 1\n\ufeffq 0 e 1", 2, "the character U+FEFF"),
        (read_qrels, "q\u20280 d 1", 1, "the character U+2028"),
        (read_qrels, "q 0 d 1_000", 1, "the grade '1_000' is not a whole number"),
        (read_qrels, "q 0 d １", 1, "the grade '１' is not a whole number"),
        (read_qrels, "q 0 d 1e20", 1, "the grade '1e20' is not a whole number"),
        (read_qrels, "q 0 d 100000000000000000000", 1, "is not a whole number; plain digits, below 2147483648"),
        (read_qrels, f"q 0 d {'9' * 5000}", 1, "is not a whole number"),
        (read_qrels, "query-id\tcorpus-id\tscore\nq\td\t1_0", 2, "the grade '1_0' is not a whole number"),
        (read_qrels, "query-id\tcorpus-id\tscore\nq\ta\x07b\t1", 2, "holds the character U+0007"),
        (read_run, "q Q0 d 1_0 2.0 t", 1, "the rank '1_0' is not a whole number"),
        (read_run, "q Q0 d 1 1_0.5 t", 1, "the score '1_0.5' is not a finite number"),
        (read_run, "q Q0 d 1 ２.5 t", 1, "the score '２.5' is not a finite number"),
        (read_run, "q Q0 d 1 infinity t", 1, "is not a finite number"),
        (read_run, "q Q0 d 1 1e999 t", 1, "is not a finite number"),
        (read_run, "q Q0 d\x00 1 1.0 t", 1, "the character U+0000"),
    ],
)  # fmt: skip
def test_what_only_python_reads_is_refused_at_its_line(
    tmp_path: Path, read: Callable[[Path], object], content: str, place: int, says: str
) -> None:
    path = tmp_path / "input"
    path.write_bytes(content.encode())
    with pytest.raises(UserError) as refused:
        read(path)
    assert says in str(refused.value)
    assert refused.value.where == f"{path}:{place}"
    assert "\n" not in str(refused.value)


def test_numbers_as_trec_writes_them_are_read(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("q Q0 a 1 +1.5E+2 t\nq Q0 b 2 -.5 t\nq Q0 c 003 7. t\n")
    assert [row.score for row in read_run(tmp_path / "run")["q"]] == [150.0, -0.5, 7.0]
    (tmp_path / "qrels").write_text("q 0 a +1\nq 0 b -1\nq 0 c 02\n")
    assert read_qrels(tmp_path / "qrels") == {"q": {"a": 1, "b": -1, "c": 2}}


def test_a_run_that_could_not_be_read_back_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("q Q0 a 1 1.5 t\n")
    row = read_run(tmp_path / "run")["q"][0]
    for docno in ("a\x00b", "a\ufeffb", "a b", ""):
        with pytest.raises(UserError, match="cannot stand in a TREC file"):
            write_run(tmp_path / "again", {"q": [row._replace(docno=docno)]})
    assert not (tmp_path / "again").exists()


def test_a_file_that_is_not_json_lines_is_told_what_is_read(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("id,query,baseline,perturbed\n1,a,b,c\n")
    with pytest.raises(UserError, match=r"pairs.csv:1: not JSON .*one object \{...\} per line; no CSV"):
        read_pairs(path)
    path.write_text(json.dumps([{"id": 1}]))
    with pytest.raises(UserError, match=r"pairs.csv:1: a JSON object is expected; .*no JSON list"):
        list(read_json_lines(path))


def test_a_last_line_without_an_end_and_blank_lines_are_read_as_before(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes("\ufeffone\r\n\n \ntwo".encode())
    assert [(line.number, line.text) for line in read_lines(path)] == [(1, "one"), (4, "two")]
