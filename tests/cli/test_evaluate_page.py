"""Every command of docs/evaluate.md runs, in the order of the page."""

import importlib.util
import re
import shlex
import sys
from pathlib import Path

import pytest
from chat_server import ChatServer

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "evaluate.md").read_text(encoding="utf-8")
TINY = str(ROOT / "src" / "visgym_maze_skyrl" / "assets" / "tiny-maze-7x7")


def commands():
    """Arguments of the page's commands."""
    blocks = re.findall(r"```bash\n(.*?)```", PAGE, flags=re.DOTALL)
    lines = "".join(blocks).replace("\\\n", " ").replace("$TINY", TINY).splitlines()
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("visgym-maze ")]


@pytest.fixture
def server():
    server = ChatServer()
    yield server
    server.close()


def test_the_commands_of_the_page_run_in_their_order(run, server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("MY_KEY", "secret")
    (tmp_path / "mine.py").write_text(re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)[0])
    listed = commands()
    if importlib.util.find_spec("torch") is None:  # one of them needs the extra 'train'
        listed = [arguments for arguments in listed if TINY not in arguments]
    for arguments in listed:
        served = [argument.replace("http://localhost:8000/v1", server.url) for argument in arguments]
        result = run(*served)
        assert result.code == 0, f"{arguments}: {result.err}"
    monkeypatch.delitem(sys.modules, "mine")
    for name in ("mine", "served", "sampled", "oracle"):
        assert (tmp_path / "results" / name / "report.md").exists()
    assert {"eval", "split", "compare", "replay", "render", "demos", "bench"} <= {line[0] for line in listed}


def test_the_page_answers_what_is_asked():
    for heading in ("Who plays", "On what", "What is left behind", "Before and after"):
        assert f"\n## {heading}\n" in PAGE
