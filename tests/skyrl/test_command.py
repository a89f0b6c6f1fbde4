"""The command line: first line, help, and one clear line for bad input."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from visgym_maze_skyrl import backend
from visgym_maze_skyrl.train import main, parse_arguments

pytestmark = pytest.mark.train

EXAMPLE = Path(__file__).parents[2] / "examples" / "train_grpo.py"


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--recipe", "tinny"], "did you mean 'tiny'"),
        (["setps=3"], "did you mean 'steps'"),
        (["model=./nowhere"], "does not exist"),
        (["output=/dev/null/run"], "choose another with output=FOLDER"),
        (["--resume", "output=/tmp/there-is-no-run-here"], "no run to resume"),
        (["--backend", "skyrl"], "--backend local"),
        (["--recipe", "single-gpu"], "asks for gpus=1"),
        (["eval_levels=4000"], "ask for at most"),
    ],
)
def test_bad_input_gives_one_line_with_the_remedy_and_exit_code_2(
    argv, message, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert main(argv) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert message in error


def test_options_may_stand_before_and_between_the_overrides():
    parsed = parse_arguments(["steps=4", "--resume", "size=9", "--recipe", "smoke", "seed=1"])
    assert parsed.overrides == ["steps=4", "size=9", "seed=1"]
    assert parsed.resume
    assert parse_arguments(["--resume", "steps=4"]).overrides == ["steps=4"]


def test_an_old_python_is_named(capsys, monkeypatch):
    monkeypatch.setattr(backend.sys, "version_info", _Version())
    assert main([]) == 2
    assert "needs Python 3.12 or newer" in capsys.readouterr().err


class _Version(tuple):
    """A stand-in for ``sys.version_info`` of Python 3.11."""

    __slots__ = ()
    major, minor = 3, 11

    def __new__(cls):
        return super().__new__(cls, (3, 11, 7))


def test_a_missing_package_names_the_extra(capsys, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "skyrl" else find(name))
    assert main([]) == 2
    assert "pip install 'visgym-maze[train]'" in capsys.readouterr().err


def test_help_shows_examples():
    result = subprocess.run([sys.executable, EXAMPLE, "--help"], capture_output=True, text=True, check=True)
    assert "examples:" in result.stdout
    assert "--resume" in result.stdout
