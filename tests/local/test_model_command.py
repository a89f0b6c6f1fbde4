"""``visgym-maze eval`` with a model folder, with and without an adapter, and after a stop."""

from __future__ import annotations

import json

import peft
import pytest
import torch

from visgym_maze import Split
from visgym_maze.cli.app import build
from visgym_maze.cli.choosing import choose
from visgym_maze.cli.measuring import unlike_training
from visgym_maze_skyrl.assets import tiny_model_folder
from visgym_maze_skyrl.local.policy import ModelPolicy

pytestmark = pytest.mark.train
MAZES = Split.make("eval", 7, 4, max_moves=14)


@pytest.fixture
def evaluate(folder, tmp_path, capfd):
    """Runs the command on four mazes; returns its exit code, its report if it has one, and its errors."""
    MAZES.save(tmp_path / "mazes.json")
    fixed = ["--split", tmp_path / "mazes.json", "--prompt", "brief", "--style", "patch16", "--max-tokens", 6]

    def run(*arguments):
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            build()(["eval", *map(str, [*fixed, "--json", *arguments])], prog_name="visgym-maze")
        out, err = capfd.readouterr()
        return ended.value.code, json.loads(out) if out else None, err

    return run


@pytest.fixture
def adapter(load, tmp_path):
    wrapped = peft.get_peft_model(load(), peft.LoraConfig(r=4, target_modules=["q_proj", "down_proj"]))
    torch.manual_seed(0)
    with torch.no_grad():
        for name, parameter in wrapped.named_parameters():
            if "lora_B" in name:
                parameter.normal_(std=0.5)
    wrapped.save_pretrained(tmp_path / "adapter")
    return tmp_path / "adapter"


def texts(folder):
    lines = [json.loads(line) for line in (folder / "trajectories.jsonl").read_text().splitlines()]
    return {line["group"]: [turn["text"] for turn in line["turns"]] for line in lines}


def test_a_folder_is_played_greedily_or_sampled_with_or_without_adapter(evaluate, folder, adapter, tmp_path):
    seen = {}
    for name, arguments in (
        ("greedy", []),
        ("adapted", ["--adapter", adapter]),
        ("sampled", ["--temperature", 1, "--seed", 1]),
        ("other seed", ["--temperature", 1, "--seed", 2]),
    ):
        code, report, errors = evaluate("--policy", folder, "--out", tmp_path / name, *arguments)
        assert code == 0, errors
        assert report["episodes"] == report["ceiling"] == 4
        assert report["tokens"]["answers"] > 4
        assert report["info"]["sampling"]["mode"] == ("sampled" if "--seed" in arguments else "greedy")
        assert "torch" in report["info"]["versions"]
        seen[name] = json.dumps(texts(tmp_path / name), sort_keys=True)
    assert len(set(seen.values())) == 4


def test_a_stopped_evaluation_ends_as_it_would_have(evaluate, folder, tmp_path):
    arguments = ["--policy", folder, "--temperature", 1, "--out"]
    assert evaluate(*arguments, tmp_path / "whole")[0] == 0
    stopped = tmp_path / "stopped"
    assert evaluate(*arguments, stopped)[0] == 0
    lines = (stopped / "trajectories.jsonl").read_text().splitlines()
    (stopped / "trajectories.jsonl").write_text("".join(f"{line}\n" for line in lines[1:3]))
    assert evaluate(*arguments, stopped)[0] == 0
    assert texts(stopped) == texts(tmp_path / "whole")


def test_other_folders_are_refused(evaluate, folder, tmp_path):
    code, _, errors = evaluate("--policy", tmp_path)
    assert code == 2
    assert "holds no config.json" in errors
    code, _, errors = evaluate("--policy", folder, "--adapter", tmp_path)
    assert code == 2
    assert "holds no adapter_config.json" in errors
    code, _, errors = evaluate("--policy", folder, "--device", "abacus")
    assert code == 2
    assert "there is no device 'abacus'" in errors
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    with pytest.raises(ValueError, match="a model of type 'llama', only qwen3_vl"):
        choose(str(tmp_path), None)


def test_an_adapter_given_as_a_model_is_named(tmp_path):
    (tmp_path / "adapter_config.json").write_text("{}")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ValueError, match=r"holds a LoRA adapter.*--adapter"):
        ModelPolicy.load(tmp_path)


@pytest.mark.parametrize(
    ("play", "size", "said"),
    [
        (
            {},
            9,
            "was trained with --prompt brief, --style patch16, mazes of 7x7; without it may solve nothing",
        ),
        ({"prompt": "brief", "style": "patch16"}, 9, "was trained with mazes of 7x7;"),
        ({"prompt": "brief", "style": "patch16"}, 7, None),
    ],
)
def test_what_a_model_was_trained_for_is_said_if_it_is_asked_something_else(play, size, said):
    levels = Split.make("eval", size, 2, max_moves=14)
    hint = unlike_training(tiny_model_folder(), levels, play)
    assert (hint is None) if said is None else (said in hint)


def test_a_model_that_says_nothing_is_asked_anything(tmp_path):
    assert unlike_training(tmp_path, MAZES.levels, {}) is None
    (tmp_path / "warmstart.json").write_text("[]")
    assert unlike_training(tmp_path, MAZES.levels, {}) is None
