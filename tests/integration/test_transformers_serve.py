"""A real server, ``transformers serve`` with the shipped tiny model, evaluated end to end with pictures."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

missing = [
    name for name in ("fastapi", "uvicorn", "requests", "openai") if importlib.util.find_spec(name) is None
]
pytestmark = [
    pytest.mark.train,
    pytest.mark.skipif(bool(missing), reason=f"transformers serve needs {', '.join(missing)}"),
]

PLAY = ["--prompt", "brief", "--style", "patch16", "--max-tokens", "12", "--temperature", "0"]
EVAL = "from visgym_maze.cli import main; main()"
SERVE = "from transformers.cli.transformers import main; main()"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """URL of the server, name of the model, and the server's log."""
    from visgym_maze_skyrl.assets import tiny_model_folder

    model = str(tiny_model_folder())
    log = tmp_path_factory.mktemp("serve") / "log"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-c", SERVE, "serve", model, "--host", "127.0.0.1", "--port", str(port)]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    with log.open("w") as output:
        process = subprocess.Popen(
            [*command, "--device", "cpu"], stdout=output, stderr=subprocess.STDOUT, env=environment
        )
        try:
            for _ in range(240):
                assert process.poll() is None, log.read_text()[-3000:]
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2)
                    break
                except OSError:
                    time.sleep(0.5)
            yield f"http://127.0.0.1:{port}/v1", model, log
        finally:
            process.kill()
            process.wait()


def asked(log):
    return log.read_text().count("POST /v1/chat/completions")


def episodes(folder):
    path = Path(folder) / "trajectories.jsonl"
    lines = path.read_text().split("\n")[:-1] if path.exists() else []
    return [json.loads(line) for line in lines]


def test_a_killed_evaluation_asks_for_the_rest_only_and_ends_with_the_models_own_score(server, tmp_path):
    from visgym_maze import Split, evaluate
    from visgym_maze_skyrl.local.policy import ModelPolicy

    url, model, log = server
    mazes = Split.make("eval", 7, 12, max_moves=14)
    mazes.save(tmp_path / "mazes.json")
    out = tmp_path / "out"
    command = [sys.executable, "-c", EVAL, "eval", "--endpoint", url, "--model", model, *PLAY]
    command += ["--split", str(tmp_path / "mazes.json"), "--concurrency", "2", "--out", str(out)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while len(episodes(out)) < 4:
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    before, sent = episodes(out), asked(log)
    assert 4 <= len(before) < 12
    subprocess.run(command, check=True, capture_output=True)
    after = episodes(out)
    assert after[: len(before)] == before
    assert sum(len(episode["turns"]) for episode in after[len(before) :]) == asked(log) - sent
    report = json.loads((out / "report.json").read_text())
    assert report["episodes"] == 12
    assert report["tokens"]["answers"] > 0
    own, _ = evaluate(
        ModelPolicy.load(model, temperature=0.0, max_tokens=12), mazes, prompt="brief", style="patch16"
    )
    assert abs(report["successes"] - own.successes) <= 1, "bfloat16 there, float32 here"
    assert own.successes > 0
