"""verifiers itself evaluates: its own command, against an endpoint on the loopback interface."""

import json
import shutil
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

pytest.importorskip("verifiers", reason="needs verifiers: run tests/adapters/run verifiers")
from visgym_maze import MazeDialogue, Split, picture_urls, solve

pytestmark = pytest.mark.adapters

LEVELS = Split.make("eval", size=7, n=4)
OPTIONS = {"max_turns": 15, "goal_rule": "reach"}


PATHS = {picture_urls(MazeDialogue(level).reset())[0]: solve(level).path() for level in LEVELS}


class Oracle(BaseHTTPRequestHandler):
    """Knows each maze by its first picture, and the way through it."""

    answers = OPTIONS["max_turns"]
    requests: ClassVar = []

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.requests.append(request)
        turn = sum(message["role"] == "assistant" for message in request["messages"])
        if turn >= self.answers:
            self.send_error(400, "no more")
            return
        word = PATHS[picture_urls(request["messages"])[0]][turn].word
        message = {"role": "assistant", "content": f"<action>{word}</action>"}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        answer = {"id": "1", "object": "chat.completion", "created": 0, "model": "oracle"}
        body = json.dumps({**answer, "choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class Tired(Oracle):
    """Fails for good after two answers."""

    answers = 2
    requests: ClassVar = []


def evaluated(handler, folder):
    """Two rollouts of each maze, as verifiers wrote them down."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        command = [shutil.which("vf-eval"), "visgym-maze-verifiers", "--no-push", "--no-rich", "-m", "oracle"]
        command += ["--client.base-url", f"http://127.0.0.1:{server.server_port}/v1"]
        command += ["--client.api-key-var", "NO_KEY", "-r", "2", "-o", str(folder)]
        command += ["--env.taskset.size", "7", "--env.taskset.n", str(len(LEVELS))]
        command += ["--env.taskset.options", json.dumps(OPTIONS)]
        command += ["--env.taskset.reward", json.dumps({"progress": 0.3})]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        server.shutdown()
    assert done.returncode == 0, done.stderr[-3000:]
    (traces,) = folder.glob("*/traces.jsonl")
    return [json.loads(line) for line in traces.read_text().splitlines()]


@pytest.fixture(scope="module")
def episodes(tmp_path_factory):
    return evaluated(Oracle, tmp_path_factory.mktemp("verifiers"))


def test_the_rollouts_of_a_task_play_its_maze_to_the_goal(episodes):
    keys = [episode["task"]["key"] for episode in episodes]
    assert sorted(keys) == sorted(2 * [level.key for level in LEVELS])
    for episode in episodes:
        assert episode["ok"]
        (trace,) = episode["traces"]
        trajectory = trace["info"]["trajectory"]
        assert trajectory["layout"]["key"] == episode["task"]["key"]
        assert trajectory["stop_reason"] == "goal"
        assert trace["metrics"] == {"success": 1.0, "turns": len(trajectory["turns"])}
        assert trace["rewards"]["reward"]["score"] == pytest.approx(1.0)


def test_every_request_shows_a_picture_per_turn(episodes):
    for request in Oracle.requests:
        turns = 1 + sum(message["role"] == "assistant" for message in request["messages"])
        assert len(picture_urls(request["messages"])) == turns
    assert len(Oracle.requests) == sum(len(e["traces"][0]["info"]["trajectory"]["turns"]) for e in episodes)


def test_an_episode_that_the_endpoint_ends_is_lost_and_says_why(tmp_path):
    for episode in evaluated(Tired, tmp_path):
        assert not episode["ok"]
        (trace,) = episode["traces"]
        trajectory = trace["info"]["trajectory"]
        assert trajectory["stop_reason"] == "error"
        assert len(trajectory["turns"]) == 2
        assert "no more" in trajectory["info"]["error"]
        assert trace["metrics"]["success"] == 0.0
