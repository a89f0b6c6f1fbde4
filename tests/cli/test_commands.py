"""Every command: its help, its examples, its JSON, and one clear line for bad input."""

import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from visgym_maze import Layout, Split, generate, render
from visgym_maze.cli import console
from visgym_maze.cli.app import COMMANDS, build

MAIN = [sys.executable, "-c", "from visgym_maze.cli import main; main()"]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_what_a_command_does_with_examples(name, run):
    result = run(name, "--help")
    assert result.code == 0
    assert f"Usage: visgym-maze {name}" in result.out
    assert f" visgym-maze {name} " in result.out.partition("Examples:")[2]
    assert "--json" in result.out


def test_without_a_command_the_help_lists_all(run):
    result = run()
    assert all(f" {name} " in result.out for name in COMMANDS)


def test_the_version_is_told(run):
    assert run("--version").out.strip() == "0.1.0"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_can_be_shown(shell):
    environment = {"_VISGYM_MAZE_COMPLETE": f"source_{shell}", "PATH": "/bin:/usr/bin"}
    result = subprocess.run(MAIN, env=environment, capture_output=True, text=True)
    assert "visgym-maze" in result.stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("visgym-maze r", {"render"}),
        ("visgym-maze render --style pa", {"patch16", "patch28", "patch32"}),
        ("visgym-maze split ", {"train", "dev", "eval"}),
    ],
)
def test_names_are_completed(words, expected):
    environment = {
        "_VISGYM_MAZE_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
        "PATH": "/bin:/usr/bin",
    }
    result = subprocess.run(MAIN, env=environment, capture_output=True, text=True)
    assert {line.rpartition(",")[2] for line in result.stdout.split()} >= expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["render", "--size", "8"], "height must be an odd number from 5 up, got 8; try 9"),
        (["render", "--size", "9999"], "at most 301 cells a side"),
        (["render", "--size", "nine"], "--size is an odd number such as 9, or HEIGHTxWIDTH such as 7x11"),
        (["render", "--style", "neon"], "unknown style 'neon'; known: visgym"),
        (["render", "--style", "dark", "--view", "fog"], "give either --style dark or --view fog"),
        (["render", "--generator", "eller"], "unknown maze generator 'eller'; known: braided"),
        (["render", "--out", "/dev/null/maze.png"], "/dev/null"),
        (["split", "test"], "unknown split 'test'; known: train, dev, eval"),
        (["split", "eval", "--size", "7", "--n", "1000"], "ask for at most 216"),
        (
            ["eval", "--policy", "oracle", "--split", __file__],
            "test_commands.py is no split manifest: no JSON",
        ),
        (["demos", "--out", "demos", "--format", "csv"], "unknown format 'csv'; known: openai"),
        (["demos", "--out", "demos", "--detours", "2"], "detours is a probability"),
    ],
)
def test_bad_input_gives_one_line_with_the_remedy_and_exit_code_2(
    arguments, message, run, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.code == 2
    assert result.out == ""
    assert result.err.startswith("error: ")
    assert result.err.count("\n") == 1
    assert message in result.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["render", "--seed", "-1"], "'--seed': '-1' is not a whole number from 0 up"),
        (["demos", "--out", "x", "--detours", "nan"], "'nan' is not a number from 0.0 up"),
        (["rendr"], "No such command 'rendr'"),
        (["split", "eval", "--n", "many"], "'many' is not a whole number from 1 up"),
    ],
)
def test_what_is_no_option_is_named(arguments, message, run):
    result = run(*arguments)
    assert result.code == 2
    assert message in result.err
    assert "Traceback" not in result.err


def test_a_missing_package_names_the_extra():
    program = "import sys; sys.modules['typer'] = None; from visgym_maze.cli import main; main()"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.returncode == 2
    assert result.stderr.strip() == (
        "error: the command line needs the package typer; pip install 'visgym-maze[cli]'"
    )


@pytest.mark.parametrize(
    ("package", "arguments", "extra"),
    [
        ("torch", ["--policy", "."], "visgym-maze[train]"),
        ("httpx", ["--endpoint", "http://localhost/v1", "--model", "m", "--out", "x"], "visgym-maze[cli]"),
    ],
)
def test_a_missing_package_of_one_kind_of_policy_names_the_extra(package, arguments, extra, tmp_path):
    program = f"import sys; sys.modules[{package!r}] = None; from visgym_maze.cli import main; main()"
    command = [sys.executable, "-c", program, "eval", *arguments]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert result.returncode == 1
    assert f"needs the package {package}; pip install '{extra}'" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_fault_of_the_program_is_not_hidden(monkeypatch):
    monkeypatch.setattr("visgym_maze.cli.render.generate", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        build()(["render"], prog_name="visgym-maze")


def test_render_writes_the_picture_of_the_maze_that_it_names(run, tmp_path):
    path = tmp_path / "maze.png"
    data = run("render", "--size", "7x11", "--seed", 3, "--style", "dark", "--out", path, "--json").data
    layout = Layout.from_dict(data)
    assert layout == generate((7, 11), rng=3)
    assert data["file"] == str(path)
    picture = np.asarray(Image.open(path).convert("RGB"))
    assert (picture == render(layout, layout.start, "dark")).all()


def test_render_draws_characters_where_there_are_no_colours(run):
    result = run("render", "--seed", 1)
    assert result.out.splitlines()[0] == "#########"
    assert "shortest path" in result.out


def test_render_draws_blocks_in_colour(run, monkeypatch):
    monkeypatch.setattr(
        "visgym_maze.cli.console.results", Console(force_terminal=True, color_system="truecolor", width=100)
    )
    monkeypatch.setattr("visgym_maze.cli.render.results", Console(color_system="truecolor"))
    out = run("render", "--seed", 1).out
    assert out.count("▀") == 36 * 18
    assert "38;2;169;169;169" in out


def test_split_writes_a_manifest(run, tmp_path):
    path = tmp_path / "eval.json"
    data = run("split", "eval", "--size", 7, "--n", 20, "--seed", 2, "--out", path, "--json").data
    split = Split.load(path)
    assert json.loads(path.read_text()) == data
    assert split.key == Split.make("eval", 7, 20, 2, 14).key
    assert split.key in run("split", "eval", "--size", 7, "--n", 20, "--seed", 2).out


def test_demos_writes_transcripts(run, tmp_path):
    data = run(
        "demos", "--n", 3, "--size", 7, "--detours", 0.3, "--out", tmp_path, "--dialect", "tuple", "--json"
    ).data
    lines = (tmp_path / "messages.jsonl").read_text().splitlines()
    assert data["transcripts"] == len(lines) == 3
    assert json.loads(lines[0])["messages"][-1]["content"] == "('stop', 'stop')"
    assert data["split_key"] == Split.make("train", 7, 3, 0, 14).key


def test_bench_measures_everything(run):
    data = run("bench", "--size", 7, "--seconds", 0.01, "--json").data
    assert len(data["per_second"]) == 5
    assert all(rate > 0 for rate in data["per_second"].values())
    assert "turns of a conversation" in run("bench", "--size", 7, "--seconds", 0.01).out


def test_long_work_shows_a_bar_on_a_terminal(monkeypatch):
    screen = Console(file=io.StringIO(), force_terminal=True, width=80)
    monkeypatch.setattr(console, "errors", screen)
    with console.progress("episodes", 8) as tell:
        tell(3, 8)
    assert "episodes" in screen.file.getvalue()
    assert "3/8" in screen.file.getvalue()


@pytest.mark.parametrize("columns", [20, 400])
def test_a_terminal_without_unicode_gets_question_marks(columns):
    command = [*MAIN, "eval", "--policy", "oracle"]
    plain = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C", "COLUMNS": str(columns)}
    done = subprocess.run([*command, "--limit", "2"], capture_output=True, text=True, env=plain)
    assert done.returncode == 0, done.stderr
    assert "2/2 solved" in " ".join(done.stdout.split())
    assert "Traceback" not in done.stderr
    record = subprocess.run(
        [*command, "--limit", "2", "--json"], capture_output=True, text=True, env=plain, check=True
    )
    assert json.loads(record.stdout)["successes"] == 2
