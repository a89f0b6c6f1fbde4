"""Nodes and heads that are lost: fake nodes on this machine, real trainings on them.

Each node is a raylet of its own with GPUs in name only. Takes four minutes, with no other Ray on the machine,
and needs the package ``ray[default]``; the command is in docs/cluster.md.
"""

import contextlib
import importlib.util
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
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
    pytest.mark.filterwarnings(
        "ignore::ResourceWarning", "ignore::FutureWarning", "ignore::DeprecationWarning"
    ),
]

STEPS = 10
SETTINGS = [f"steps={STEPS}", "checkpoint_every=2", "gpus=2", "device=cpu", "max_turns=9", "max_new_tokens=5"]
SETTINGS += ["eval_levels=2", "threads=1", "eval_every=100"]


def node(**resources):
    """Arguments of a node; its agent, which starts jobs, has a port of its own."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    return {"num_cpus": 1, "dashboard_agent_listen_port": port, **resources}


def gpu_node():
    """Arguments of a worker in a folder of its own, for nodes delete what jobs sent to those beside them."""
    return node(num_gpus=2, temp_dir=tempfile.mkdtemp(dir=os.environ["RAY_TMPDIR"], prefix="n"))


@pytest.fixture
def nodes(tmp_path, monkeypatch):
    """Makes heads; every one of them, and what joined it, is gone at the end."""
    folder = Path(f"/tmp/rn-{os.getpid()}")  # short: Ray puts sockets below it
    settings = {
        "HOME": str(tmp_path),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "RAY_AUTH_MODE": "disabled",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_TMPDIR": str(folder),  # nobody else's ray.init() finds these clusters
        "RAY_DASHBOARD_SUBPROCESS_MODULE_WAIT_READY_TIMEOUT": "240",
        "OMP_NUM_THREADS": "1",
        # Ray calls a node dead after a minute or more unless told otherwise.
        "RAY_health_check_initial_delay_ms": "2000",
        "RAY_health_check_period_ms": "2000",
        "RAY_health_check_timeout_ms": "5000",
        "RAY_health_check_failure_threshold": "3",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    (folder / "ray").mkdir(parents=True)
    from ray.cluster_utils import Cluster

    made = []

    def head():
        made.append(cluster := Cluster())
        cluster.add_node(**node(include_dashboard=True, dashboard_port=0))
        address = f"http://{cluster.head_node.webui_url}"
        wait_until(lambda: answers(address), 240)
        return cluster, address

    yield head
    for cluster in made:
        cluster.shutdown()
    kill_all_of(tmp_path)
    shutil.rmtree(folder, ignore_errors=True)


def kill_all_of(folder):
    """Kill what has this folder in its command line: on a real node, nothing outlives the node."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.fsencode(folder) in (process / "cmdline").read_bytes():
                os.kill(int(process.name), signal.SIGKILL)


def answers(address):
    try:
        with urllib.request.urlopen(f"{address}/api/version", timeout=5):
            return True
    except OSError:
        return False


def wait_until(done, seconds, said=lambda: ""):
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, said()
        time.sleep(0.2)


def call(*arguments):
    """Exit code and all output of ``visgym-maze-train``."""
    command = [sys.executable, "-m", "visgym_maze_skyrl.cluster.command", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=400)
    return done.returncode, done.stdout


def submit(address, runs, run, *settings):
    where = ["--address", address, "--runs", str(runs), "--run-id", run, "--no-wait"]
    code, output = call("submit", *where, "--recipe", "smoke", "--backend", "local", *SETTINGS, *settings)
    assert code == 0, output


def played(folder):
    """Step and keys of the mazes of every group that was played."""
    log = StepLog(folder / "groups.jsonl").read()
    return {r["step"]: [key for group in r["groups"] for key in group["keys"]] for r in log}


def planned():
    """The same of a run that nothing interrupts."""
    recipe, _ = override(RECIPES["smoke"], SETTINGS)
    keys = [group.layout.key for group in train_dataset(recipe).groups]
    size = recipe.mazes_per_step
    return {step + 1: keys[step * size : (step + 1) * size] for step in range(STEPS)}


def logged(folder):
    """What was logged of the steps, seconds included, which differ when a step is done once more."""
    return {record["step"]: record for record in StepLog(folder / "metrics.jsonl").read()}


def reached(folder, step):
    return any(number >= step for number in logged(folder))


def test_a_run_outlives_the_node_that_it_trains_on(nodes, tmp_path):
    cluster, address = nodes()
    first = cluster.add_node(**gpu_node())
    submit(address, tmp_path, "lost")
    folder = tmp_path / "lost"
    wait_until(lambda: reached(folder, 3), 180)
    kept = {step: logged(folder)[step] for step in (1, 2)}  # step 2 has a checkpoint
    cluster.remove_node(first, allow_graceful=False)
    wait_until(lambda: "waiting for 2 GPU, 0 on" in logs(address, "lost"), 240, lambda: logs(address, "lost"))
    cluster.add_node(**gpu_node())
    code, output = call("logs", "lost", "--address", address)
    assert code == 0, output
    assert re.search(r"supervise: fault: the trainer ended with code 1 at step \d+; 3 restarts left", output)
    assert output.count("supervise: training starts") == 2
    assert {step: logged(folder)[step] for step in kept} == kept
    assert json.loads((folder / "report.json").read_text())["steps_done"] == STEPS
    assert played(folder) == planned()


def logs(address, job):
    with urllib.request.urlopen(f"{address}/api/jobs/{job}/logs", timeout=10) as answer:
        return json.load(answer)["logs"]


def test_a_run_outlives_the_head_by_resume(nodes, tmp_path):
    cluster, address = nodes()
    cluster.add_node(**gpu_node())
    submit(address, tmp_path, "headless")
    folder = tmp_path / "headless"
    wait_until(lambda: reached(folder, 3), 180)
    kept = {step: logged(folder)[step] for step in (1, 2)}  # step 2 has a checkpoint
    cluster.remove_node(cluster.head_node, allow_graceful=False)
    cluster.shutdown()
    kill_all_of(folder)
    assert not (folder / "report.json").exists()

    cluster, address = nodes()
    cluster.add_node(**gpu_node())
    code, output = call("status", "headless", "--address", address)
    assert code == 2, output
    assert "resume headless --runs FOLDER" in output
    code, output = call("resume", "headless", "--address", address, "--runs", str(tmp_path))
    assert code == 0, output
    assert {step: logged(folder)[step] for step in kept} == kept
    assert played(folder) == planned()
    assert call("status", "headless", "--address", address) == (0, "headless  SUCCEEDED exit code 0\n")
