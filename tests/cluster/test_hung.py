"""HyperPod's agent for hung jobs hears of a run's rules; without an agent nothing happens."""

import http.server
import importlib.util
import json
import os
import re
import subprocess
import sys
import threading
from typing import ClassVar

import pytest

from visgym_maze_skyrl.cluster.hung import AGENT, register, rules
from visgym_maze_skyrl.progress import ProgressDisplay
from visgym_maze_skyrl.recipe import RECIPES

pytestmark = pytest.mark.train
RECIPE = RECIPES["hyperpod-qwen3-vl-8b"]
PORT = 8889
"""Where the agent listens; the toolkit knows no other."""

PROGRAM = """
import sys, ray
from visgym_maze_skyrl.cluster.hung import register
from visgym_maze_skyrl.recipe import RECIPES
ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, _temp_dir=sys.argv[1])
@ray.remote
def task():
    return register(RECIPES["hyperpod-qwen3-vl-8b"]), ray.get_runtime_context().get_worker_id()
print("said", *ray.get(task.remote()), sep="|")
"""


def shown(step, total):
    """The line that a display prints for a step."""
    import io
    from types import SimpleNamespace

    from rich.console import Console

    text = io.StringIO()
    display = ProgressDisplay(Console(file=text, soft_wrap=True))
    display.on_train_start(None, SimpleNamespace(global_step=0, total_steps=total), None)
    logs = {"timing/step": 1.0}
    display.on_log(None, SimpleNamespace(global_step=step, total_steps=total, logs=logs), None)
    display.close()
    return text.getvalue()


def test_the_rule_matches_the_lines_that_a_run_prints():
    (rule,) = rules(RECIPE)
    assert len(rule["log_pattern"]) <= 256
    for step in (1, RECIPE.steps):
        assert re.search(rule["log_pattern"], shown(step, RECIPE.steps))
    assert re.search(rule["stop_pattern"], shown(RECIPE.steps, RECIPE.steps))
    assert not re.search(rule["stop_pattern"], shown(RECIPE.steps // 10, RECIPE.steps))
    assert 0 < rule["timeout_minutes"] < rule["start_timeout_minutes"]


def test_without_an_agent_nothing_is_said(monkeypatch):
    monkeypatch.delenv(AGENT, raising=False)
    assert register(RECIPE) == ""


def test_an_image_without_the_toolkit_is_told_the_remedy(monkeypatch):
    monkeypatch.setenv(AGENT, "127.0.0.1")
    monkeypatch.setitem(sys.modules, "toolkit_for_ray_on_sagemaker_ai", None)
    monkeypatch.setitem(sys.modules, "toolkit_for_ray_on_sagemaker_ai.log_monitoring", None)
    assert "install 'visgym-maze[hyperpod]'" in register(RECIPE)


class Agent(http.server.BaseHTTPRequestHandler):
    """Notes what is posted, and answers with the status that it was given."""

    status = 200
    heard: ClassVar[list] = []

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.heard.append((self.path, body))
        answer = json.dumps({"error": "no such field"}).encode()
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *arguments):
        pass


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "said"),
    [(200, "reports this run as hung after 60 minutes"), (400, "not watched: no such field")],
)
@pytest.mark.skipif(
    importlib.util.find_spec("toolkit_for_ray_on_sagemaker_ai") is None, reason="needs the extra hyperpod"
)
def test_the_toolkit_hands_the_rules_to_the_agent(status, said, tmp_path, tmp_path_factory):
    handler = type("Handler", (Agent,), {"status": status, "heard": []})
    try:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", PORT), handler)
    except OSError as error:
        pytest.skip(f"port {PORT} is taken: {error}")
    with server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(tmp_path_factory.mktemp("r"))],
            env=os.environ | {AGENT: "127.0.0.1", "HOME": str(tmp_path), "RAY_AUTH_MODE": "disabled"},
            capture_output=True, text=True, timeout=240,
        )  # fmt: skip
        server.shutdown()
    _, words, worker = next(line for line in done.stdout.splitlines() if line.startswith("said")).split("|")
    assert said in words, done.stdout + done.stderr
    (path, body), *more = handler.heard
    assert path == "/configure-hang-detection-rules"
    assert body["worker_id"] == worker
    assert body["rules_content"] == {
        "enabled": True,
        "rules": rules(RECIPE),
        "action_policy": {"action": "notify"},
    }
    assert not more
