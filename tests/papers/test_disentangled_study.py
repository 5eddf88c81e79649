"""The study of DGRe on a tiny backbone: what it writes, after a kill, with other parts, and what it refuses."""

import json

import jsonschema
import pytest

import whyrank.learning.trainer as training_module
from tests.checkpoints import save
from tests.cli.run import one_line, whyrank
from tests.learning.small import QRELS, write_collection
from tests.learning.tiny_training import still_backbone
from tests.pages.inert import text_of
from whyrank.cli.caller import terminal
from whyrank.collections.bm25 import first_stage
from whyrank.collections.collection import Collection
from whyrank.core.errors import UserError
from whyrank.learning.judgements import judged as judge
from whyrank.learning.models.vanilla import VanillaBert
from whyrank.learning.trainer import Trainer
from whyrank.papers.disentangled.results import Disentangled, LackingRow
from whyrank.papers.disentangled.sizes import Sizes
from whyrank.papers.disentangled.study import DisentangledStudy, run_disentangled, training_setup
from whyrank.papers.disentangled.trainings import TrainingSetup, fewer_tests
from whyrank.papers.disentangled.variants import MODELS, PARTS, VARIANTS
from whyrank.papers.disentangled.work import StudyWork
from whyrank.papers.disentangled.workload import Speed, speed_of, work_of

pytestmark = pytest.mark.slow

TINY = Sizes(
    folds=3, seeds=2, other_seeds=1, depth=12, epochs=1, batch=8, max_length=24, chunks=1, positives=1,
    audit_documents=2, patched_pairs=2, readings=8,
)  # fmt: skip
FEW = ("bm25", "drmm", "bert")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A tiny backbone and a collection whose queries have two lengths."""
    folder = tmp_path_factory.mktemp("study")
    still_backbone(folder)
    write_collection(folder / "collection")
    path = folder / "collection" / "queries.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    longer = [{**row, "text": row["text"] + " in the house" * (i % 2)} for i, row in enumerate(rows)]
    path.write_text("".join(json.dumps(row) + "\n" for row in longer))
    return folder


@pytest.fixture(autouse=True)
def one_thread():
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def setup(place, sizes=TINY, train_qrels=None, **settings):
    start = str(place / "collection"), str(place / "backbone")
    return training_setup(*start, sizes, None, train_qrels, settings)


def run_study(setup, out, parts, models, **more):
    return run_disentangled(DisentangledStudy(setup, parts, models, **more), out, terminal())


def result_of(out):
    return Disentangled.read(out)


@pytest.fixture
def trained(monkeypatch):
    """The names of the models that are trained, as often as they are."""
    found = []
    run = Trainer.run

    def counted(self, *how):
        found.append(self.work.parent.name)
        return run(self, *how)

    monkeypatch.setattr(Trainer, "run", counted)
    return found


def test_the_whole_study(place, trained, capsys):
    out = place / "whole"
    returned = run_study(setup(place), out, PARTS, MODELS)
    assert len(trained) == len(set(trained)) == 18
    found = result_of(out)
    assert [row.name for row in found.tables["table2"].rows[::2]] == [
        "BM25", "DRMM", "Conv-KNRM", "BERT", "BERT-MaxP", "CEDR-KNRM", "PARADE", "LGRe", "DGRe",
        "random order", "best possible",
    ]  # fmt: skip
    assert all(row.queries == 13 for row in found.tables["table2"].rows), "every query is tested once"
    seeds = {row.name: row.seeds for row in found.tables["table2"].rows}
    assert (seeds["BERT"], seeds["DGRe"], seeds["LGRe"]) == (2, 2, 1)
    dgre = [row.mean for part in ("table2", "table5") for row in found.tables[part].rows if row.variant == "dgre"]
    assert dgre[:2] == dgre[2:], "one training, whatever table shows it"
    assert found.table6.cut == 3 and len(found.table6.rows) == 12
    assert found.one_query.qid in json.loads((out / "trainings/bert/train.json").read_text())["folds"][0]["test"]
    assert set(found.one_query.word_graphs.graphs) == {"none", "heuristic", "adaptive"}
    assert list(found.one_query.t_sne) == [
        "rank loss only",
        "point",
        "pair",
        "triangle",
        "triangle and information",
    ]
    assert found.audits.axioms and found.audits.seeds == {"bert": 2, "dgre": 2}
    assert {title: len(one.heads) for title, one in found.heads.maps.items()} == {
        "before training": 12, "bert": 12, "dgre": 12,
    }  # fmt: skip
    assert {(row.one, row.other) for row in found.heads.alike} >= {("bert", "bert"), ("bert", "dgre")}
    assert set(found.attention.means) == {"uniform", "before training", "bert", "dgre"}
    assert returned.to_json() == found.to_json() == json.loads((out / "study.json").read_text())
    jsonschema.validate(found.to_json(), Disentangled.schema())
    assert "less BERT, nDCG@20" in " ".join(found.verdict()) and "\n" not in repr(found)
    assert len(found.to_pandas()) == len(found.findings) and found.plot().patches
    kept = sorted(path.parent.parent.name for path in out.glob("trainings/*/models/fold1-seed0"))
    assert kept == ["bert", "dgre", "dgre-mask-adaptive", "dgre-pair", "dgre-point", "dgre-triangle"]
    assert not list(out.glob("trainings/*/models/fold2*")) and not list(out.glob("trainings/*/.training*"))
    page = (out / "report.html").read_text()
    assert page.count("<svg") == 6 and 'href="trainings/dgre/report.html"' in page
    assert 'src="http' not in page and 'href="http' not in page
    for title in ("Table 1", "Table 6", "Figures 6 to 8", "which axioms improve", "heads before", "spurious"):
        assert title in page
    before = page
    trained.clear()
    capsys.readouterr()
    run_study(setup(place), out, PARTS, MODELS)
    assert not trained and capsys.readouterr().err.count("done before") == 18
    assert (out / "report.html").read_text() == before


class Killed(BaseException):
    pass


def test_killed_anywhere_it_trains_nothing_twice_and_ends_with_the_same(place, trained, monkeypatch):
    parts = ("table1", "table2")
    sizes = Sizes(**{**vars(TINY), "seeds": 1, "epochs": 2})
    run_study(setup(place, sizes), place / "calm", parts, FEW)
    assert trained == ["drmm", "bert"]
    trained.clear()
    stop, seen = [("bert", 2, 1)], []

    run = Trainer.run

    def deadly(self, on_progress):
        def watch(now):
            where = (self.work.parent.name, now.job.fold, now.epoch)
            seen.append(where)
            if stop and where == stop[0] and now.losses:
                stop.clear()
                raise Killed
            on_progress(now)

        return run(self, watch)

    monkeypatch.setattr(Trainer, "run", deadly)
    with pytest.raises(Killed):
        run_study(setup(place, sizes), place / "killed", parts, FEW)
    so_far = result_of(place / "killed")
    assert so_far.to_do == ("bert",) and {row.name for row in so_far.tables["table2"].rows} == {
        "BM25", "DRMM", "random order", "best possible",
    }  # fmt: skip
    page = text_of((place / "killed" / "report.html").read_text())
    assert "Not finished: 1 of 2 models and variants are still to be trained" in page
    assert "BERT is lacking: not trained yet." in page
    seen.clear()
    run_study(setup(place, sizes), place / "killed", parts, FEW)
    assert trained == ["drmm", "bert", "bert"], "what is done is not begun again"
    assert min(seen) == ("bert", 2, 1) and ("bert", 1, 2) not in seen, "nor is a fold that was finished"
    assert result_of(place / "killed") == result_of(place / "calm") and not result_of(place / "calm").to_do
    assert "Not finished" not in (place / "killed" / "report.html").read_text()


def test_two_trainings_at_a_time_come_to_the_same(place, monkeypatch, capsys):
    parts, sizes = ("table1", "table2"), Sizes(**{**vars(TINY), "seeds": 1, "epochs": 2})
    to_do, write = [], Disentangled.write
    monkeypatch.setattr(Disentangled, "write", lambda self, *to: (to_do.append(self.to_do), write(self, *to))[1])
    run_study(setup(place, sizes), place / "one", parts, FEW)
    assert to_do == [("bert",), ()], "a report after each training"
    to_do.clear()
    monkeypatch.setattr(Trainer, "_train", lambda *_: pytest.fail("this process trains nothing"))
    run_study(setup(place, sizes), place / "two", parts, FEW, workers=2)
    assert result_of(place / "two") == result_of(place / "one")
    assert [len(names) for names in to_do] == [1, 0], "and side by side as soon as one is over"
    said = capsys.readouterr().err
    assert "6 trainings, 2 at a time, one thread each" in said and "drmm fold3-seed0, epoch 2/2" in said
    run_study(setup(place, sizes), place / "two", parts, FEW, workers=2)
    assert "at a time" not in capsys.readouterr().err, "what is done is done"


def test_other_parts_go_into_the_same_folder_and_share_its_trainings(place, trained):
    out, sizes = place / "parts", Sizes(**{**vars(TINY), "seeds": 1})
    run_study(setup(place, sizes), out, ("table2",), ("bm25", "bert"))
    assert trained == ["bert"] and set(result_of(out).tables) == {"table2"}
    run_study(setup(place, sizes), out, ("table2",), FEW)
    assert trained == ["bert", "drmm"]
    run_study(setup(place, sizes), out, ("table2",), ("bm25",))
    assert trained == ["bert", "drmm"] and not result_of(out).tables["table2"].differences
    with pytest.raises(UserError, match=r"sizes.epochs was 1 and is 2"):
        run_study(setup(place, Sizes(**{**vars(sizes), "epochs": 2})), out, ("table2",), FEW)


def test_without_our_rows_the_papers_are_trained_and_tabled(place, trained):
    out, sizes = place / "papers", Sizes(**{**vars(TINY), "seeds": 1})
    run_study(setup(place, sizes), out, ("table5",), FEW, extra_rows=False)
    assert trained == ["dgre-triangle", "dgre"]
    assert {row.name for row in result_of(out).tables["table5"].rows} == {"none", "MINE"}
    assert not result_of(out).to_do and json.loads((out / "manifest.json").read_text())["extra_rows"] is False


def test_the_work_is_counted_before_it_begins(place, monkeypatch, capsys):
    seen = {"learned": 0, "scored": 0}
    output, scores = VanillaBert.output, training_module.shared_scores

    def counted(self, batch):
        seen["learned"] += batch.examples
        return output(self, batch)

    def counted_scores(candidates, *others):
        seen["scored"] += len(candidates.rows)
        return scores(candidates, *others)

    sizes = Sizes(**{**vars(TINY), "seeds": 2, "epochs": 2})
    made = setup(place, sizes, validation_depth="3")
    bert, drmm, dgre = (VARIANTS[name] for name in ("bert", "drmm", "dgre"))
    work = work_of(made, made.plan(bert), {bert: 2, drmm: 1})
    assert work.jobs == 3 * 2 + 3
    monkeypatch.setattr(StudyWork, "_say_workload", lambda self: None)
    monkeypatch.setattr(VanillaBert, "output", counted)
    monkeypatch.setattr(training_module, "shared_scores", counted_scores)
    run_study(made, place / "counted", ("table2",), ("bm25", "bert"))
    assert seen == vars(work.documents)
    assert work.sequences == {"bert": work.documents}, "one sequence a document"
    longer = setup(place, Sizes(**{**vars(sizes), "chunks": 2}))
    twice = work_of(longer, made.plan(bert), {bert: 2, dgre: 1})
    assert twice.sequences == {"bert": work.documents * 2, "dgre": work.documents}
    speeds = {"bert": Speed(learned=10, scored=100), "dgre": Speed(learned=5, scored=50)}
    alone = seen["learned"] / 10 + seen["scored"] / 100
    assert twice.hours(speeds) == pytest.approx((2 * alone + 2 * alone) / 3600)
    monkeypatch.undo()
    run_study(made, place / "counted", ("table2",), FEW)
    assert "3 trainings to do: 0 documents to learn from" in capsys.readouterr().err, "of DRMM alone"


def test_what_is_timed_is_what_is_to_be_trained(place, capsys):
    """Batches of one pair are too small for DGRe's critics, and enough for what is asked for."""
    made = setup(place, Sizes(**{**vars(TINY), "seeds": 1, "batch": 1}))
    bert, lgre, plain, dgre = (VARIANTS[name] for name in ("bert", "lgre", "dgre-mask-none", "dgre"))
    for asked, timed in (
        ((lgre, plain, bert), {"lgre", "bert"}),
        ((lgre, dgre), {"dgre"}),
        ((plain,), {plain.name}),
    ):
        assert set(work_of(made, made.plan(bert), dict.fromkeys(asked, 1)).sequences) == timed
    run_study(made, place / "graphs", ("table2",), ("bm25", "lgre"))
    assert "measured now: LGRe learns from" in capsys.readouterr().err


def test_speeds_are_of_learning_and_of_scoring_and_change_nothing(place):
    import torch

    threads = torch.get_num_threads()
    for name in ("bert", "dgre"):
        plan = setup(place).plan(VARIANTS[name])
        before = torch.get_rng_state()
        found = speed_of(plan, workers=2)
        assert found.scored > 0 and found.learned > 0
        assert torch.equal(torch.get_rng_state(), before) and torch.get_num_threads() == threads


def test_seeds_that_are_added_are_trained_alone_and_come_to_the_same(place, monkeypatch):
    jobs, fit = [], Trainer.fit
    monkeypatch.setattr(Trainer, "fit", lambda self, job, watch: (jobs.append(job), fit(self, job, watch))[1])
    found = {}
    for out, counts in (("at-once", (2,)), ("added", (1, 2, 1))):
        for count in counts:
            jobs.clear()
            sizes = Sizes(**{**vars(TINY), "seeds": count, "audit_documents": 2 + count})
            run_study(setup(place, sizes), place / out, ("table2",), ("bm25", "bert"))
            found[out, len(found)] = (list(jobs), result_of(place / out))
    once, one, two, fewer = found.values()
    assert {job.seed for job in two[0]} == {1} and len(two[0]) == 3 and not fewer[0]
    assert two[1].tables == once[1].tables and fewer[1].tables == one[1].tables
    kept = [json.loads((place / out / "trainings/bert/train.json").read_text()) for out in ("at-once", "added")]
    assert kept[0] == kept[1], "the training's own report is of all seeds"
    assert sorted(path.name for path in (place / "added/trainings/bert/models").iterdir()) == [
        "fold1-seed0", "fold1-seed1",
    ]  # fmt: skip


def test_a_run_of_the_users_is_not_called_bm25(place, tmp_path):
    lines = [f"q{i} Q0 d{i}-{j} {j + 1} {9 - j} mine" for i in range(13) for j in range(4)]
    (tmp_path / "mine.trec").write_text("\n".join(lines) + "\n")
    sizes = Sizes(**{**vars(TINY), "seeds": 1})
    start = str(place / "collection"), str(place / "backbone")
    mine = training_setup(*start, sizes, tmp_path / "mine.trec")
    run_study(mine, tmp_path / "run", ("table2", "table6"), ("bm25", "bert"))
    found = result_of(tmp_path / "run")
    assert {row.name for row in found.tables["table2"].rows} == {
        "first stage",
        "BERT",
        "random order",
        "best possible",
    }
    assert {(row.of, row.against) for row in found.tables["table2"].differences} == {("first stage", "BERT")}
    assert "first stage" in {row.name for row in found.table6.rows}


def test_a_fixed_test_is_one_split_and_its_queries_are_not_learned_from(place, tmp_path):
    lines = [f"q{i} 0 {docno} {grade}" for i in range(13) for docno, grade in QRELS[f"q{i}"].items()]
    (tmp_path / "train.qrels").write_text("\n".join(lines) + "\n")
    judged = write_collection(tmp_path / "collection") / "qrels" / "test.tsv"
    head, *rows = judged.read_text().splitlines()
    own = [row for row in rows if row.split()[0] in ("q10", "q11", "q12")]
    judged.write_text("\n".join([head, *own]) + "\n")
    documents, queries = (tmp_path / "collection" / name for name in ("corpus.jsonl", "queries.jsonl"))
    known = Collection.from_files(documents, queries, judged)
    sizes = Sizes(**{**vars(TINY), "folds": None, "seeds": 1, "tests": 2})
    what = fewer_tests(judge(known, str(tmp_path / "train.qrels")), sizes.tests)
    made = TrainingSetup(what, first_stage(known, 12), "BM25", str(place / "backbone"), sizes)
    run_study(made, tmp_path / "run", ("table1", "table2"), ("bm25", "bert"))
    (fold,) = json.loads((tmp_path / "run" / "trainings" / "bert" / "train.json").read_text())["folds"]
    assert fold["test"] == ["q10", "q11"]
    assert sorted(fold["train"] + fold["validation"]) == sorted(f"q{i}" for i in range(10)), "q12 is not used"
    found = result_of(tmp_path / "run")
    assert found.about.fixed_test and found.table1.test_queries == 2
    assert "a fixed test" in (tmp_path / "run" / "report.html").read_text()


def test_another_query_is_drawn_without_another_training(place, trained):
    out, sizes = place / "query", Sizes(**{**vars(TINY), "seeds": 1, "folds": 1})
    run_study(setup(place, sizes), out, ("figures",), FEW)
    first, before = result_of(out).one_query.qid, len(trained)
    other = next(qid for qid in QRELS if qid != first)
    run_study(setup(place, sizes), out, ("figures",), FEW, query=other)
    found = result_of(out).one_query
    assert found.qid == other and len(trained) == before
    assert found.word_graphs.graphs and set(found.t_sne)
    assert f"{other}" in (out / "report.html").read_text()


def test_settings_of_some_models_go_to_those_that_have_them(place, tmp_path):
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("cat 1 0\ndog 0 1\nmany 1 1\n")
    made = setup(place, TINY, aggregation="avg", vectors=str(vectors), rate="0.002")
    own = {name: made.settings_of(VARIANTS[name]) for name in ("parade", "drmm", "bert")}
    assert own["parade"]["aggregation"] == "avg" and "aggregation" not in {**own["drmm"], **own["bert"]}
    assert own["drmm"]["vectors"] == str(vectors) and "vectors" not in {**own["parade"], **own["bert"]}
    assert (own["bert"]["rate"], own["drmm"]["rate"]) == ("0.002", TINY.word_rate)
    assert setup(place, TINY, vectors="none").inputs() == setup(place).inputs()
    before = made.inputs()["vectors"]
    vectors.write_text("cat 1 1\n")
    assert made.inputs()["vectors"] != before, "another content is another study"
    with pytest.raises(UserError, match="no such file"):
        setup(place, TINY, vectors="nowhere.txt").inputs()


def test_a_loss_that_is_no_number_beside_others(place, capsys):
    sizes = Sizes(**{**vars(TINY), "seeds": 1})
    run_study(setup(place, sizes, margin="1e39"), place / "lost", ("table2",), FEW, workers=2)
    found = result_of(place / "lost")
    assert set(found.lacking) == {"drmm", "bert"} and "the rank loss is inf" in found.lacking["bert"]
    assert capsys.readouterr().err.count("is lacking: the rank loss is inf") == 2


def test_what_cannot_be_done_is_refused_before_anything_is_trained(place, tmp_path, trained):
    for sizes, query, complaint in (
        (TINY, "q99", "no query 'q99'"),
        (Sizes(**{**vars(TINY), "max_length": 99}), None, "positions for 24 tokens"),
        (Sizes(**{**vars(TINY), "folds": 9}), None, "cannot make 9 folds"),
    ):
        with pytest.raises(UserError, match=complaint):
            run_study(setup(place, sizes), tmp_path / "run", ("table2", "figures"), FEW, query=query)
    with pytest.raises(UserError, match="rate cannot be 7"):
        run_study(setup(place, TINY, rate="7"), tmp_path / "run", ("table2",), FEW)
    one_pair = Sizes(**{**vars(TINY), "batch": 1})
    with pytest.raises(UserError, match="1 pair read at a time"):
        run_study(setup(place, one_pair), tmp_path / "run", ("table2",), ("bert", "dgre"))
    with pytest.raises(UserError, match="no such file"):
        run_study(setup(place, TINY, vectors="none.txt"), tmp_path / "run", ("table2",), FEW)
    assert not trained and not (tmp_path / "run").exists(), "the folder is free for another try"


def test_what_cannot_be_opened_says_why(place, trained, monkeypatch):
    import whyrank.papers.disentangled.opened as module

    def fails(*_, **__):
        raise UserError("no pair could be made", todo="try another axiom")

    monkeypatch.setattr(module, "audited", fails)
    monkeypatch.setattr(module, "head_maps", fails)
    out = place / "lacking"
    sizes = Sizes(**{**vars(TINY), "seeds": 1, "folds": 1})
    run_study(setup(place, sizes), out, ("opened",), FEW)
    assert result_of(out).not_done["audits"] == "no pair could be made; try another axiom"
    assert (out / "report.html").read_text().count("could not be done: no pair could be made") == 2
    assert list(out.glob("stages/*/attention*.json")) and not list(out.glob("stages/*/audits*.json")), (
        "it may be possible the next time"
    )


def broken(monkeypatch, name):
    """Trainings of this model come to losses that are no numbers, from their second step on."""
    from whyrank.learning.models.catalogue import model_class

    kind, calls = model_class(name), []
    losses = kind.losses

    def fails(self, output, queries):
        calls.append(1)
        found = losses(self, output, queries)
        return {key: loss * float("nan") for key, loss in found.items()} if len(calls) > 1 else found

    monkeypatch.setattr(kind, "losses", fails)


def test_a_training_that_comes_to_no_number_costs_its_own_rows_only(place, trained, monkeypatch):
    broken(monkeypatch, "dgre")
    out, sizes = place / "broken", Sizes(**{**vars(TINY), "seeds": 1, "epochs": 2})
    run_study(setup(place, sizes), out, ("table2", "table6", "figures", "opened"), (*FEW, "dgre", "lgre"))
    found = result_of(out)
    assert list(dict.fromkeys(row.name for row in found.tables["table2"].rows)) == [
        "BM25", "DRMM", "BERT", "LGRe", "random order", "best possible",
    ]  # fmt: skip
    assert found.tables["table2"].lacking == (LackingRow("DGRe", "dgre"),)
    assert {(row.of, row.against) for row in found.tables["table2"].differences} == {
        ("BM25", "BERT"), ("DRMM", "BERT"), ("LGRe", "BERT"), ("DRMM", "BM25"), ("LGRe", "BM25"),
    }  # fmt: skip
    assert {row.name for row in found.table6.rows} == {"BM25", "BERT"}
    assert "fold1-seed0" in found.lacking["dgre"] and "lgre" in trained, "the study goes on"
    assert "no trained dgre" in found.not_done["figures"] and "attention" in found.not_done
    page = text_of((out / "report.html").read_text())
    assert "DGRe is lacking: " in page and "no trained dgre to open" in page


def test_what_fails_after_the_tables_takes_none_of_them_away(place, monkeypatch):
    import whyrank.papers.disentangled.opened as module

    def fails(*_, **__):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(module, "head_maps", fails)
    out, sizes = place / "late", Sizes(**{**vars(TINY), "seeds": 1, "folds": 1})
    with pytest.raises(RuntimeError, match="out of memory"):
        run_study(setup(place, sizes), out, ("table2", "opened"), FEW)
    found = result_of(out)
    assert found.tables["table2"].rows and found.audits and not found.heads and not found.attention
    assert "which axioms improve" in text_of((out / "report.html").read_text())
    assert not (out / "manifest.json").exists(), "it is not finished"


def test_the_command_line_does_it(place, tmp_path):
    sizes = {"folds": 3, "depth": 12, "epochs": 1, "batch": 8, "max-length": 24, "seeds": 1, "positives": 1}
    done = whyrank(
        "study", "disentangled", "--quick", "--collection", place / "collection", "--backbone", place / "backbone",
        *(part for name, value in sizes.items() for part in (f"--{name}", value)),
        "--only", "table1,table2", "--models", "bm25,bert", "--workers", "2", "-o", tmp_path / "run",
        OMP_NUM_THREADS="1",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("study disentangled: ") and "to beat on the validation queries" in done.stderr
    assert "3 trainings, 2 at a time" in done.stderr and "open" in done.stderr
    found, manifest = result_of(tmp_path / "run"), json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert found.about.quick and {row.name for row in found.tables["table2"].rows} == {
        "BM25", "BERT", "random order", "best possible",
    }  # fmt: skip
    assert (
        manifest["sizes"]["seeds"] == 1 and manifest["workers"] == 2 and manifest["sizes"]["audit_documents"] == 4
    )
    assert manifest["collection"] == "collection"


def test_the_command_line_refuses_in_one_line(tmp_path):
    start = ["study", "disentangled", "-o", tmp_path / "run"]
    assert "no part 'tabel2'; did you mean" in one_line(whyrank(*start, "--only", "tabel2"))
    assert "no setting 'masking'" in one_line(whyrank(*start, "--set", "masking=none"))
    assert "bm25 is not a backbone" in one_line(whyrank(*start, "--backbone", "bm25"))
    mine = ["--collection", write_collection(tmp_path / "mine"), "--backbone", save(tmp_path / "tiny")]
    assert "tests without a fixed test; give queries" in one_line(whyrank(*start, *mine, "--tests", "4"))
    assert not (tmp_path / "run").exists()
