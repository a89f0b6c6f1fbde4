"""A real Prometheus collects a run's metrics from a real Ray, and every chart has something to show.

Takes a minute, and needs the program ``prometheus`` and the package ``ray[default]``; the command is in
docs/hyperpod.md.
"""

import importlib.util
import json
import shutil
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from pathlib import Path

import pytest
import yaml

from visgym_maze_skyrl.deploy.dashboard import dashboard

missing = [name for name in ("prometheus",) if shutil.which(name) is None]
missing += [name for name in ("prometheus_client", "opencensus") if importlib.util.find_spec(name) is None]
pytestmark = [
    pytest.mark.train,
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing), reason=f"not here: {', '.join(missing)}"),
]
STEPS = Path(__file__).parents[2] / "docs" / "results" / "gpu" / "metrics.jsonl"
NEED_A_GPU = {"GPU utilisation", "GPU memory", "Requests", "KV cache"}
PROGRAM = """
import json, sys, time
from types import SimpleNamespace as N
import ray
from visgym_maze_skyrl.observability import RunMetrics

port, steps, folder = int(sys.argv[1]), sys.argv[2], sys.argv[3]
ray.init(num_cpus=1, include_dashboard=False, _metrics_export_port=port, _temp_dir=folder)
metrics = RunMetrics("run-1")
trainer = N(recipe=N(mazes_per_step=16), generator=N(trajectories=[N(turns=[0] * 7), N(turns=[0] * 15)]))
metrics.on_train_start(trainer, N(global_step=0, total_steps=99, logs=None), None)
for number, line in enumerate(open(steps), 1):
    logs = {**json.loads(line), "eval/greedy/success_rate": 0.5, "policy/policy_kl": 0.01}
    step = N(global_step=number, total_steps=99, logs=logs)
    metrics.on_step_end(trainer, step, None)
    metrics.on_save(trainer, step, None)
    metrics.on_log(trainer, step, None)
    time.sleep(2)
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def ask(port, expression):
    for name, value in {"$run_id": "run-1", "$cluster": ".*", "$__rate_interval": "15s"}.items():
        expression = expression.replace(name, value)
    query = urllib.parse.urlencode({"query": expression})
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?{query}", timeout=10) as answer:
        return json.load(answer)["data"]["result"]


def test_every_chart_has_something_to_show(tmp_path, tmp_path_factory, monkeypatch):
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setenv("HOME", str(tmp_path))
    exporter, server = free_port(), free_port()
    scrape = {"job_name": "ray", "static_configs": [{"targets": [f"127.0.0.1:{exporter}"]}]}
    config = {"global": {"scrape_interval": "2s"}, "scrape_configs": [scrape]}
    (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(config))
    # Ray's sockets lie below its folder, and their paths may not be long.
    short = tmp_path_factory.mktemp("r")
    run = [sys.executable, "-c", PROGRAM, str(exporter), str(STEPS), str(short)]
    collect = [
        "prometheus", f"--config.file={tmp_path}/prometheus.yml", f"--storage.tsdb.path={tmp_path}/data",
        f"--web.listen-address=127.0.0.1:{server}", "--log.level=error",
    ]  # fmt: skip
    with subprocess.Popen(collect) as prometheus, subprocess.Popen(run) as training:
        try:
            expressions = {
                target["expr"]: panel["title"]
                for panel in dashboard()["panels"]
                for target in panel.get("targets", [])
                if panel["title"] not in NEED_A_GPU
            }
            waiting = set(expressions)
            while waiting:
                assert training.poll() is None, (
                    f"nothing to show in {sorted({expressions[e] for e in waiting})}"
                )
                time.sleep(1)
                waiting = {e for e in waiting if not ask_or_nothing(server, e)}
        finally:
            training.terminate()
            prometheus.terminate()


def ask_or_nothing(port, expression):
    try:
        return ask(port, expression)
    except OSError:
        return []  # the server is not up yet
