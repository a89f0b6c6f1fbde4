"""Real trainings on a real Ray head: submitted, followed, failing, stopped, resumed.

Takes two minutes, and needs the package ``ray[default]``; the command is in docs/cluster.md.
"""

import importlib.util
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from visgym_maze_skyrl.dataset import train_dataset
from visgym_maze_skyrl.recipe import RECIPES, override
from visgym_maze_skyrl.runlog import StepLog

missing = [name for name in ("aiohttp_cors", "opencensus") if importlib.util.find_spec(name) is None]
pytestmark = [
    pytest.mark.train,
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing), reason=f"ray[default] is not here: {', '.join(missing)}"),
]

SETTINGS = ["max_turns=9", "max_new_tokens=5", "eval_levels=2", "threads=1", "eval_every=100"]
START_SECONDS = 240


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


@pytest.fixture(scope="module")
def head(tmp_path_factory):
    """Address of a head with one CPU, on ports of its own; stopped at the end."""
    home = tmp_path_factory.mktemp("home")
    temporary = Path(f"/tmp/ray-{os.getpid()}")  # short: Ray puts sockets below it
    gcs, dashboard, client, metrics = free_ports(4)
    environment = os.environ | {
        "HOME": str(home),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "RAY_AUTH_MODE": "disabled",
        "RAY_DASHBOARD_SUBPROCESS_MODULE_WAIT_READY_TIMEOUT": "240",
        "OMP_NUM_THREADS": "1",
    }
    command = [str(Path(sys.executable).parent / "ray"), "start", "--head", "--block", "--num-cpus=1"]
    command += [f"--port={gcs}", f"--dashboard-port={dashboard}", f"--ray-client-server-port={client}"]
    command += [f"--metrics-export-port={metrics}", f"--temp-dir={temporary}", "--node-ip-address=127.0.0.1"]
    with (home / "ray.log").open("w") as log:
        process = subprocess.Popen(
            [*command, "--include-dashboard=true", "--disable-usage-stats"],
            env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    address = f"http://127.0.0.1:{dashboard}"
    try:
        wait_until(lambda: process.poll() is not None or answers(address), START_SECONDS)
        assert process.poll() is None, (home / "ray.log").read_text()
        yield address
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def answers(address):
    try:
        with urllib.request.urlopen(f"{address}/api/version", timeout=5):
            return True
    except OSError:
        return False


def wait_until(done, seconds):
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def command(*arguments):
    return [sys.executable, "-m", "visgym_maze_skyrl.cluster.command", *arguments]


def call(*arguments, env=None):
    """Exit code and all output of ``visgym-maze-train``."""
    done = subprocess.run(
        command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=400, env=env
    )
    return done.returncode, done.stdout


def submission(address, runs, run, *settings):
    where = ["--address", address, "--runs", str(runs), "--run-id", run]
    return ["submit", *where, "--recipe", "smoke", "--backend", "local", *SETTINGS, *settings]


def test_a_run_is_submitted_followed_and_found_again(head, tmp_path):
    code, output = call(*submission(head, tmp_path, "good"))
    assert code == 0, output
    assert "run good is job good" in output
    assert "supervise: training starts on the backend local" in output
    assert output.rstrip().endswith("run good: SUCCEEDED")
    assert json.loads((tmp_path / "good" / "report.json").read_text())["steps_done"] == 2

    code, again = call("logs", "good", "--address", head)
    assert code == 0
    assert "supervise: the run is complete" in again
    assert call("status", "good", "--address", head) == (0, "good  SUCCEEDED exit code 0\n")
    code, output = call(*submission(head, tmp_path, "good"))
    assert code == 2
    assert "knows a run good already" in output
    code, output = call("status", "other", "--address", head)
    assert code == 2
    assert "resume other --runs FOLDER" in output


def test_a_run_that_fails_ends_with_the_jobs_exit_code(head, tmp_path):
    # The model folder is looked for on the cluster, so this mistake shows there only.
    code, output = call(*submission(head, tmp_path, "bad", "model=/there/is/no/model"))
    assert code == 2, output
    assert "error: model=/there/is/no/model does not exist" in output
    assert output.rstrip().endswith("run bad: FAILED")
    assert call("status", "bad", "--address", head) == (2, "bad  FAILED exit code 2\n")


def test_a_stopped_run_is_resumed_by_its_id_and_plays_the_same_mazes(head, tmp_path):
    steps = 8
    settings = [f"steps={steps}", "checkpoint_every=100"]
    code, output = call(*submission(head, tmp_path, "long", *settings), "--no-wait")
    assert code == 0, output
    log = StepLog(tmp_path / "long" / "metrics.jsonl")
    wait_until(log.read, 180)
    code, output = call("stop", "long", "--address", head)
    assert code == 0, output
    wait_until(lambda: call("status", "long", "--address", head)[1] == "long  STOPPED\n", 120)
    code, output = call("logs", "long", "--address", head)
    assert code == 130
    assert "stopped; a resumed run goes on from the newest checkpoint" in output, output
    done = log.read()[-1]["step"]
    assert done < steps
    checkpoint = tmp_path / "long" / "checkpoints" / "latest_ckpt_global_step.txt"
    assert checkpoint.read_text() == str(done)

    code, output = call("resume", "long", "--address", head)
    assert code == 0, output
    assert "run long is job long-2" in output
    assert f"resuming after step {done}" in output
    recipe, _ = override(RECIPES["smoke"], [*SETTINGS, *settings])
    keys = [group.layout.key for group in train_dataset(recipe).groups]
    groups = StepLog(tmp_path / "long" / "groups.jsonl").read()
    assert [r["step"] for r in groups] == list(range(1, steps + 1))
    assert [key for r in groups for group in r["groups"] for key in group["keys"]] == keys
    code, output = call("status", "long", "--address", head)
    assert re.fullmatch(r"long  STOPPED\nlong-2  SUCCEEDED exit code 0\n", output)
    assert code == 0


def test_hyperpods_toolkit_opens_sessions_and_opens_them_again(head, tmp_path):
    pytest.importorskip("sagemaker_ray", reason="needs the extra hyperpod")
    pytest.importorskip("trustme", reason="needs the package trustme")
    from hyperpod_stand_in import HyperPod

    api = HyperPod(head, tmp_path)
    certificate = str(api.certificate)
    env = os.environ | {
        "KUBECONFIG": str(api.kubeconfig),
        "REQUESTS_CA_BUNDLE": certificate,
        "SSL_CERT_FILE": certificate,
    }
    address = "sagemaker_ray://visgym/team-a"
    runs = tmp_path / "runs"
    try:
        with subprocess.Popen(
            command(*submission(address, runs, "far", "steps=6")),
            env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        ) as process:  # fmt: skip
            log = StepLog(runs / "far" / "metrics.jsonl")
            wait_until(lambda: log.read() or process.poll() is not None, 180)
            api.sessions.clear()  # while the run is followed
            output, _ = process.communicate(timeout=300)
        assert process.returncode == 0, output
        assert output.rstrip().endswith("run far: SUCCEEDED")
        assert output.count("supervise: training starts") == 1
        assert [f"step    {n}/6" in output for n in range(1, 7)] == [True] * 6
        assert api.connections >= 2

        for other, message in (("nobody/team-a", "not found"), ("visgym/someone-else", "[Dd]enied")):
            code, output = call("status", "far", "--address", f"sagemaker_ray://{other}", env=env)
            assert code == 2, output
            assert output.startswith("error: no job server at sagemaker_ray://")
            assert re.search(message, output), output
            assert output.count("\n") == 1
    finally:
        api.close()
