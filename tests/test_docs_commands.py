"""Every line of every shell block in the documents names programs, files, commands and options that exist."""

import importlib.util
import os
import re
import shlex
import subprocess
import sys
import tomllib
from dataclasses import fields
from functools import cache
from pathlib import Path

import pytest

from visgym_maze_skyrl.recipe import Recipe

ROOT = Path(__file__).parents[1]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("*.md"))]
PAGES += [ROOT / "deploy" / "README.md", ROOT / "examples" / "downstream" / "README.md"]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
OUTSIDE = {
    "apt",
    "aws",
    "docker",
    "git",
    "kubectl",
    "maze-agent",
    "printf",
    "serve",
    "transformers",
    "uv",
    "uvicorn",
    "vf-eval",
    "vllm",
}
"""Programs of others; what follows them is not checked here."""
OURS = {"visgym-maze": "visgym_maze.cli", "visgym-maze-train": "visgym_maze_skyrl.cluster.command"}


def lines_of(page):
    text = page.read_text(encoding="utf-8")
    for block in re.findall(r"^```bash\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE):
        for line in block.replace("\\\n", " ").splitlines():
            if words := shlex.split(line, comments=True):
                yield words


LINES = {str(page.relative_to(ROOT)): lines for page in PAGES if (lines := list(lines_of(page)))}


@cache
def help_of(*command):
    environment = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"}
    done = subprocess.run(
        [sys.executable, *command, "--help"], cwd=ROOT, capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, (command, done.stderr[-2000:])
    return re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)


def options(words):
    return [word.partition("=")[0] for word in words if word.startswith("--")]


def check_ours(program, words):
    command = ["-c", f"import sys; from {OURS[program]} import main; sys.exit(main())"]
    if words and not words[0].startswith("-"):
        command.append(words[0])
    check_options(words, help_of(*command))


def check_options(words, text):
    assert not [name for name in options(words) if name not in text], words


def check_settings(words):
    """Each ``name=value`` that starts a training is a field of the recipe, or with a dot SkyRL's own."""
    settings = [word.partition("=")[0] for word in words if re.match(r"[a-z_.]+=", word)]
    assert {name for name in settings if "." not in name} <= {field.name for field in fields(Recipe)}, words


def check_python(words):
    if words[0] == "-m":
        assert importlib.util.find_spec(words[1]) is not None, words
    else:
        assert (ROOT / words[0]).is_file(), words
        if options(words):
            check_options(words, help_of(words[0]))


def check(words):
    while re.match(r"[A-Z_]+=", words[0]):  # variables
        words = words[1:]
        if not words:
            return
    program, words = words[0], words[1:]
    if program in OUTSIDE:
        return
    check_settings(words)
    if program == "pip":
        for extras in re.findall(r"(?:\.|visgym-maze)\[(.*?)\]", " ".join(words)):
            assert set(extras.split(",")) <= set(EXTRAS), words
    elif program in OURS:
        check_ours(program, words)
    elif program == "python" or program.endswith("/bin/python"):
        check_python(words)
    elif program == "./dev":
        assert re.search(rf"^  {words[0]}\)", (ROOT / "dev").read_text(), flags=re.MULTILINE), words
    else:
        assert os.access(ROOT / program, os.X_OK), f"what is {program}?"


@pytest.mark.parametrize("page", LINES)
def test_the_commands_of_a_page_exist(page):
    pytest.importorskip("typer", reason="needs typer: install the extra 'cli'")
    for words in LINES[page]:
        check(words)
