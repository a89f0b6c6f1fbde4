"""A real Prometheus collects what a real training publishes, and every chart has something to show.

Takes two minutes, and needs the program ``prometheus`` and the package ``ray[default]``; the command is in
docs/hyperpod.md.
"""

import importlib.util
import shutil
import time
from pathlib import Path

import pytest

missing = [name for name in ("prometheus",) if shutil.which(name) is None]
missing += [name for name in ("prometheus_client", "opencensus") if importlib.util.find_spec(name) is None]
pytestmark = [
    pytest.mark.train,
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing), reason=f"not here: {', '.join(missing)}"),
]
NEED_A_GPU = {"GPU utilisation", "GPU memory", "Requests", "KV cache"}
SCRIPT = Path(__file__).parents[2] / "docs" / "assets" / "dashboard.py"
# kl: the chart of the divergence is empty without; many steps, for the test ends the run.
SETTINGS = ["steps=500", "mazes_per_step=2", "eval_levels=2", "eval_every=2", "checkpoint_every=2", "kl=0.01"]


@pytest.fixture(scope="module")
def script():
    """The script that also draws the picture of the docs."""
    spec = importlib.util.spec_from_file_location("dashboard_picture", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_chart_has_something_to_show(script, tmp_path, tmp_path_factory, monkeypatch):
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    # Ray's sockets lie below its folder, and their paths may not be long.
    with script.watched_run(tmp_path_factory.mktemp("r"), *SETTINGS, "threads=1") as (server, training):
        titles = {
            target["expr"]: panel["title"]
            for panel in script.charts()
            for target in panel["targets"]
            if panel["title"] not in NEED_A_GPU
        }
        assert len(titles) > 20
        waiting = set(titles)
        deadline = time.monotonic() + 400
        while waiting:
            empty = sorted({titles[expression] for expression in waiting})
            assert training.poll() is None, f"the training ended with nothing to show in {empty}"
            assert time.monotonic() < deadline, f"nothing to show in {empty}"
            time.sleep(1)
            waiting = {expression for expression in waiting if not script.ask(server, expression)}
        assert script.draw(server, time.time() - 60, time.time(), "test").startswith(b"\x89PNG")
