"""How was dashboard.png made? ``python docs/assets/dashboard.py``, with Prometheus and ``ray[default]``.

It trains the tiny model in a Ray of its own, lets a Prometheus collect what the run publishes, asks it for
every chart of the dashboard, and draws the answers. Grafana has no part in it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("agg")
import matplotlib.pyplot as plt

from visgym_maze.files import write_bytes, write_text
from visgym_maze_skyrl.deploy.dashboard import dashboard

PICTURE = Path(__file__).with_name("dashboard.png")
SCRAPE_SECONDS, RATE = 2, "30s"
RUN = """
import sys, time, ray
port, folder, output, *overrides = sys.argv[1:]
ray.init(
    num_cpus=1, include_dashboard=False, log_to_driver=False, _metrics_export_port=int(port), _temp_dir=folder
)
from visgym_maze_skyrl.recipe import RECIPES, override
from visgym_maze_skyrl.train import train
recipe, passed = override(RECIPES["tiny"], [f"output={output}", *overrides])
train(recipe, passed=passed)
time.sleep(12)  # Ray hands out its numbers every ten seconds
"""


def free_port() -> int:
    """A port of this machine that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def watched_run(folder: Path, *overrides: str) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """A training of the tiny model and a Prometheus that collects its metrics; both end with the block.

    Args:
        folder: For the run, called ``run``, and the server's data; its path has to be short, for Ray.
        overrides: Fields of the recipe as ``key=value``.

    Yields:
        The server's port and the training's process.
    """
    exporter, server = free_port(), free_port()
    scrape = {"job_name": "ray", "static_configs": [{"targets": [f"127.0.0.1:{exporter}"]}]}
    config = {"global": {"scrape_interval": f"{SCRAPE_SECONDS}s"}, "scrape_configs": [scrape]}
    write_text(folder / "prometheus.yml", json.dumps(config))  # JSON is YAML too
    collect = ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
    collect += [f"--web.listen-address=127.0.0.1:{server}", "--log.level=error"]
    run = [sys.executable, "-c", RUN, str(exporter), str(folder / "ray"), str(folder / "run"), *overrides]
    with subprocess.Popen(collect) as prometheus, subprocess.Popen(run) as training:
        try:
            yield server, training
        finally:
            training.terminate()
            prometheus.terminate()


def charts() -> list[dict[str, Any]]:
    """The dashboard's charts, in their order."""
    return [panel for panel in dashboard()["panels"] if panel["type"] != "row"]


def ask(port: int, expression: str, **times: float) -> list[dict[str, Any]]:
    """What Prometheus answers to a chart's expression.

    Args:
        port: The server's.
        expression: With the dashboard's variables in it.
        times: ``start``, ``end`` and ``step`` in seconds for a range; without them the answer is for now.

    Returns:
        The series; none while the server is not up yet.
    """
    for name, value in {"$run_id": ".*", "$cluster": ".*", "$__rate_interval": RATE}.items():
        expression = expression.replace(name, value)
    what = "query_range" if times else "query"
    query = urllib.parse.urlencode({"query": expression, **times})
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/{what}?{query}", timeout=10) as answer:
            return json.load(answer)["data"]["result"]
    except urllib.error.HTTPError:
        raise
    except OSError:
        return []


def draw(port: int, start: float, end: float, title: str) -> bytes:
    """All charts as a PNG."""
    panels = charts()
    figure, axes = plt.subplots(math.ceil(len(panels) / 4), 4, figsize=(18, 21), layout="constrained")
    for axis, panel in zip(axes.flat, panels, strict=False):
        axis.set_title(f"{panel['title']} [{panel['fieldConfig']['defaults']['unit']}]", fontsize=10)
        for target in panel["targets"]:
            for series in ask(port, target["expr"], start=start, end=end, step=SCRAPE_SECONDS):
                times, values = zip(*((t - start, float(v)) for t, v in series["values"]), strict=True)
                axis.plot(times, values, label=_legend(target["legendFormat"], series["metric"]))
        if axis.lines:
            axis.legend(fontsize=6)
        else:
            axis.text(0.5, 0.5, "no data without a GPU", ha="center", transform=axis.transAxes, color="gray")
        axis.tick_params(labelsize=7)
    for axis in axes.flat[len(panels) :]:
        axis.remove()
    figure.suptitle(title, fontsize=12)
    with tempfile.TemporaryFile() as file:
        figure.savefig(file, format="png", dpi=70)
        file.seek(0)
        return file.read()


def _legend(text: str, labels: dict[str, str]) -> str:
    for name in ("run_id", "mode", "phase", "instance", "ray_io_cluster"):
        text = text.replace(f"{{{{{name}}}}}", labels.get(name, ""))
    return text.strip() or "value"


def main() -> None:
    """Train, collect, draw."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=PICTURE)
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="fields of the recipe tiny")
    a = parser.parse_intermixed_args()
    with (
        tempfile.TemporaryDirectory(prefix="d") as folder,
        watched_run(Path(folder), *a.overrides) as (port, run),
    ):
        begun = time.time()
        while run.poll() is None and not ask(port, "ray_visgym_maze_steps_left == 0"):
            time.sleep(1)
        settings = " ".join(("recipe tiny", *a.overrides))
        title = f"{settings}; seconds since the start; collected by Prometheus, drawn by matplotlib"
        write_bytes(a.out, draw(port, begun, time.time(), title))
    print(a.out)


if __name__ == "__main__":
    main()
