"""``visgym-maze play`` on a pseudo terminal."""

import json
import os
import pty
import re
import subprocess
import sys

import pytest

from visgym_maze import Action, Trajectory, generate, solve
from visgym_maze.cli.play import KEYS

ARROWS = {Action.UP: "\x1b[A", Action.DOWN: "\x1b[B", Action.RIGHT: "\x1b[C", Action.LEFT: "\x1b[D"}
LETTERS = {Action.UP: "w", Action.DOWN: "S", Action.RIGHT: "d", Action.LEFT: "A"}


@pytest.fixture
def play(tmp_path):
    """Plays with the given keys, each sent once the screen says that it waits for one."""

    def run(keys, *arguments):
        ours, theirs = pty.openpty()
        program = [sys.executable, "-c", "from visgym_maze.cli import main; main()", "play", *arguments]
        environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "60"}
        with subprocess.Popen(
            program, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, cwd=tmp_path, env=environment
        ) as process:
            os.close(theirs)
            screen = _read(ours)
            for key in keys:
                os.write(ours, key.encode())
                screen += _read(ours)
            out = process.stdout.read().decode()
        os.close(ours)
        return process.returncode, out, screen

    return run


def _read(terminal):
    """Read what is drawn until the last line of the screen is there, or the program has ended."""
    text = ""
    while "q gives up" not in text:
        try:
            text += os.read(terminal, 65536).decode(errors="replace")
        except OSError:  # the other side is closed
            return text
    return text


@pytest.mark.parametrize("keys", [ARROWS, LETTERS], ids=["arrows", "letters"])
def test_the_shortest_path_by_keys_wins(play, keys, tmp_path):
    path = solve(generate(7, rng=2, max_moves=14)).path()
    arguments = ["--size", "7", "--seed", "2", "--out", "mine.jsonl", "--json"]
    code, out, screen = play([keys[move] for move in path] + [" "], *arguments)
    assert code == 0
    trajectory = Trajectory.from_dict(json.loads(out))
    assert trajectory.success
    assert trajectory.moves == len(path)
    assert json.loads((tmp_path / "mine.jsonl").read_text()) == trajectory.to_dict()
    assert "The picture shows a maze from above" in re.sub(r"\s+", " ", screen)
    assert "\u2580" in screen
    assert "You moved one cell." in screen


def test_who_gives_up_is_told_the_score_and_nothing_is_kept(play, tmp_path):
    code, out, screen = play(["x", "q"], "--observe", "text", "--out", "mine.jsonl")
    assert code == 0
    assert out.startswith("given up: 0 turns, 0 cells walked (shortest path 12), reward 0")
    assert "#########" in screen
    assert not (tmp_path / "mine.jsonl").exists()


def test_without_a_terminal_there_is_no_play(run):
    result = run("play")
    assert result.code == 2
    assert "play needs a terminal" in result.err


def test_every_action_has_a_key():
    assert set(KEYS.values()) == set(Action)
