"""Checkpoints that say what they cannot mean, or ask for more than weights: one line each, with file and field."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.checkpoints import save
from whyrank.axioms.pair import MinimalPair
from whyrank.core.errors import UserError
from whyrank.edits.saving import save_checkpoint
from whyrank.interventions.api import patch
from whyrank.rankers.load import load

HEAD = "AutoModelForSequenceClassification"


def change(folder, name, **values):
    """The JSON file with these values in it."""
    path = folder / name
    content = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**content, **values}))
    return str(folder)


def without(folder, field):
    path = folder / "config.json"
    content = json.loads(path.read_text())
    del content[field]
    path.write_text(json.dumps(content))
    return str(folder)


@pytest.mark.parametrize("architecture", ["bert", "distilbert", "roberta", "electra", "modernbert"])
def test_a_cross_encoder_that_does_not_say_so_is_not_read_as_a_bi_encoder(tmp_path, architecture):
    folder = without(save(tmp_path, architecture, HEAD), "architectures")
    with pytest.raises(UserError, match=r"weights that are not read.*classifier.*cross-encoder"):
        load(folder)
    assert load(folder, kind="cross-encoder").kind == "cross-encoder"


def test_whyrank_json_says_what_such_a_folder_is(tmp_path):
    folder = without(save(tmp_path, "bert", HEAD), "architectures")
    (tmp_path / "whyrank.json").write_text('{"kind": "cross-encoder"}')
    assert load(folder).kind == "cross-encoder"


@pytest.mark.parametrize(
    ("name", "values", "says"),
    [
        ("config.json", {"hidden_size": "16"}, "hidden_size"),
        ("config.json", {"num_hidden_layers": 2.5}, "num_hidden_layers"),
        ("config.json", {"num_hidden_layers": 10**30}, "num_hidden_layers"),
        ("config.json", {"architectures": "BertModel"}, "architectures"),
        ("config.json", {"model_type": ["bert"]}, "model_type"),
        ("config.json", {"hidden_act": 3}, "config.json"),
        ("tokenizer_config.json", {"model_max_length": "many"}, "model_max_length"),
        ("tokenizer_config.json", {"model_max_length": 1.9}, "model_max_length"),
        ("tokenizer_config.json", {"model_max_length": 0}, "model_max_length"),
        ("tokenizer_config.json", {"model_input_names": 3}, "model_input_names"),
        ("tokenizer.json", {"model": []}, "model"),
        ("tokenizer.json", {"added_tokens": [{"id": "0"}]}, "added_tokens"),
        ("whyrank.json", {"settings": []}, "settings"),
        ("whyrank.json", {"settings": {"normalise": "false"}}, "normalise"),
        ("whyrank.json", {"kind": "bi-encoder", "normalise": True}, 'put it into "settings"'),
        ("whyrank.json", {"settings": {"max_length": 0}}, "max_length"),
        ("whyrank.json", {"settings": {"max_length": 1.9}}, "max_length"),
        ("whyrank.json", {"kind": 7}, "kind"),
    ],
)
def test_a_value_of_another_type_is_refused_by_file_and_field(tmp_path, name, values, says):
    with pytest.raises(UserError) as caught:
        load(change(save(tmp_path), name, **values))
    line = str(caught.value)
    assert name in line and says in line and "\n" not in line


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "tokenizer_config.json", "whyrank.json"])
@pytest.mark.parametrize("text", ["[]", "7", "[" * 100_000, '{"a": 1, "a": 2}', '{"model_type": "be'])
def test_a_file_that_is_no_object_is_refused_by_name(tmp_path, name, text):
    (save(tmp_path) / name).write_text(text)
    with pytest.raises(UserError, match=name):
        load(str(tmp_path))


@pytest.mark.parametrize("text", ["{}", "[3]", '[{"type": 3}]', '[{"path": ""}]'])
def test_modules_of_another_form_are_refused(tmp_path, text):
    (save(tmp_path) / "modules.json").write_text(text)
    with pytest.raises(UserError, match=r"modules\.json"):
        load(str(tmp_path))


def test_a_length_that_is_no_number_of_tokens_is_refused(tmp_path):
    modules = [{"type": "sentence_transformers.models.Transformer", "path": ""}]
    modules += [{"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"}]
    (save(tmp_path) / "modules.json").write_text(json.dumps(modules))
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text('{"pooling_mode_mean_tokens": true}')
    assert load(str(tmp_path)).pooling == "mean"
    with pytest.raises(UserError, match=r"sentence_bert_config\.json.*max_seq_length"):
        load(change(tmp_path, "sentence_bert_config.json", max_seq_length="128"))


@pytest.mark.parametrize(
    "setting", [{"normalise": "false"}, {"max_length": 0}, {"max_length": 1.9}, {"pooling": 1}]
)
def test_settings_of_another_type_are_refused(tmp_path, setting):
    with pytest.raises(UserError, match=next(iter(setting))):
        load(str(save(tmp_path)), **setting)


def test_a_length_without_room_for_a_pair_is_refused(tmp_path):
    with pytest.raises(UserError, match="no room"):
        load(str(save(tmp_path)), max_length=3)


def test_a_huge_model_beside_small_weights_is_refused_before_memory_is_taken(tmp_path):
    with pytest.raises(UserError, match="not of one checkpoint"):
        load(change(save(tmp_path), "config.json", intermediate_size=2**24, num_hidden_layers=256))


@pytest.mark.security
def test_code_of_a_checkpoint_is_not_run(tmp_path):
    folder = save(tmp_path)
    (folder / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Evil: pass\n")
    change(folder, "config.json", auto_map={"AutoModel": "evil.Evil", "AutoConfig": "evil.Evil"})
    with pytest.raises(UserError, match="auto_map"):
        load(str(folder))
    assert not (tmp_path / "ran").exists()


@pytest.mark.security
def test_a_tokenizer_with_code_of_its_own_is_refused(tmp_path):
    folder = save(tmp_path)
    (folder / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Evil: pass\n")
    with pytest.raises(UserError, match="auto_map"):
        load(change(folder, "tokenizer_config.json", auto_map={"AutoTokenizer": ["evil.Evil", None]}))
    assert not (tmp_path / "ran").exists()


@pytest.mark.security
@pytest.mark.parametrize(
    ("module", "says"),
    [
        ({"type": "evil.Evil", "path": ""}, "not run"),
        ({"type": "sentence_transformers.models.Pooling", "path": "../outside"}, "out of the folder"),
        ({"type": "sentence_transformers.models.Pooling", "path": "/etc"}, "out of the folder"),
    ],
)
def test_modules_of_a_class_of_their_own_or_out_of_the_folder_are_refused(tmp_path, module, says):
    modules = [{"type": "sentence_transformers.models.Transformer", "path": ""}, module]
    (save(tmp_path) / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(UserError, match=says):
        load(str(tmp_path))


@pytest.mark.security
@pytest.mark.parametrize("name", ["../outside.safetensors", "/etc/outside.safetensors"])
def test_an_index_that_names_weights_out_of_the_folder_is_refused(tmp_path, name):
    folder = save(tmp_path / "in")
    weights = folder / "model.safetensors"
    index = {"metadata": {}, "weight_map": dict.fromkeys(load_file(weights), name)}
    weights.rename(tmp_path / "outside.safetensors")
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(UserError, match="not in the folder"):
        load(str(folder))


def test_an_edited_checkpoint_without_a_pooler_is_saved_without_one_in_the_same_bytes(tmp_path):
    folder = save(tmp_path / "plain")
    path = folder / "model.safetensors"
    kept = {name: weight for name, weight in load_file(path).items() if not name.startswith("pooler.")}
    save_file(kept, path, metadata={"format": "pt"})
    saved = []
    for number in range(2):
        torch.manual_seed(number)
        saved.append(
            save_checkpoint(load(str(folder)), tmp_path / str(number), {}, "edited") / "model.safetensors"
        )
    assert load_file(saved[0]).keys() == kept.keys()
    assert saved[0].read_bytes() == saved[1].read_bytes()


@pytest.mark.parametrize(("head", "kind"), [("AutoModel", "bi-encoder"), (HEAD, "cross-encoder")])
def test_a_score_that_is_no_number_stops_and_names_pair_and_ranker(tmp_path, head, kind):
    folder = save(tmp_path, "bert", head)
    path = folder / "model.safetensors"
    read = load_file(path).items()
    huge = {name: weight.clone().fill_(3e38) if "word_emb" in name else weight for name, weight in read}
    save_file(huge, path, metadata={"format": "pt"})
    ranker = load(str(folder), kind=kind)
    with pytest.raises(
        UserError, match=r"query 'how many' and document 'cat on mat' is (nan|-?inf); 1 of 1 scores are not finite"
    ):
        ranker.score([("how many", "cat on mat")])
    mat = "the dog sat on the mat"
    pair = MinimalPair("p7", "how many people", f"{mat} a", f"{mat} people", term="people")
    with pytest.raises(UserError, match=r"score of pair p7, baseline, is (nan|-?inf)"):
        patch(ranker, [pair])


def test_nan_in_a_config_is_refused_by_name(tmp_path):
    with pytest.raises(UserError, match=r"config\.json.*NaN"):
        load(change(save(tmp_path), "config.json", layer_norm_eps=float("nan")))


def test_a_number_too_large_for_a_float_is_refused(tmp_path):
    """Python reads it as infinity, and every score would be the same."""
    path = save(tmp_path) / "config.json"
    path.write_text(path.read_text().replace('"layer_norm_eps": 1e-12', '"layer_norm_eps": 1e999'))
    with pytest.raises(UserError, match=r"config\.json: the number 1e999 is too large"):
        load(str(tmp_path))


@pytest.mark.security
def test_a_projection_in_a_pickle_that_would_run_code_is_refused(tmp_path):
    class Evil:
        def __reduce__(self):
            return open, (str(tmp_path / "ran"), "w")

    (save(tmp_path) / "1_Dense").mkdir()
    torch.save({"linear.weight": Evil()}, tmp_path / "1_Dense" / "pytorch_model.bin")
    with pytest.raises(UserError, match="would run code"):
        load(str(tmp_path), kind="late-interaction")
    assert not (tmp_path / "ran").exists()


def test_the_same_edit_gives_the_same_bytes_in_every_file(tmp_path):
    ranker = load(str(save(tmp_path / "plain", "bert", HEAD)))
    first, second = (save_checkpoint(ranker, tmp_path / name / "edited", {"a": 1}, "edited") for name in "ab")
    names = sorted(path.name for path in first.iterdir())
    assert names == sorted(path.name for path in second.iterdir())
    assert all((first / name).read_bytes() == (second / name).read_bytes() for name in names)


def test_a_tokenizer_that_panics_is_refused_without_a_page_from_rust(tmp_path, capfd):
    path = save(tmp_path, "bert", HEAD) / "tokenizer.json"
    path.write_text(path.read_text().replace('"[CLS]": {', '"[CLSx]": {'))
    with pytest.raises(UserError, match=r"tokenizer\.json: the tokenizer cannot tokenise"):
        load(str(tmp_path))
    assert "panicked" not in capfd.readouterr().err


def test_a_number_that_torch_cannot_hold(tmp_path):
    folder = change(save(tmp_path, "modernbert", HEAD), "config.json", local_attention=10**30)
    with pytest.raises(UserError, match=r"config\.json: field local_attention: a number that is too large"):
        load(folder)
