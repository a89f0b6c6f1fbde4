"""A run's numbers reach Prometheus under valid names, and dashboard and alerts ask for no other."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from ray.util.metrics import Counter, Gauge, Histogram

from visgym_maze_skyrl.deploy.alerts import rules
from visgym_maze_skyrl.deploy.dashboard import dashboard
from visgym_maze_skyrl.deploy.deployment import Deployment
from visgym_maze_skyrl.observability import RunMetrics
from visgym_maze_skyrl.run_metrics import EVALUATIONS, MEASURES, PHASES, STARTS, TURNS, exported, gauges

pytestmark = pytest.mark.train
ROOT = Path(__file__).parents[2]
RAYS_OWN = {
    "ray_node_mem_total", "ray_node_mem_used", "ray_node_gpus_utilization", "ray_node_gram_used",
    "ray_vllm_num_requests_running", "ray_vllm_kv_cache_usage_perc",
}  # fmt: skip
OURS = {*map(exported, gauges()), exported(STARTS), f"{exported(TURNS)}_bucket"}
promtool = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="promtool is not here; it comes with Prometheus"
)


def charts():
    return [panel for panel in dashboard()["panels"] if panel["type"] != "row"]


def panel_expressions():
    return [target["expr"] for panel in charts() for target in panel["targets"]]


def alert_expressions():
    return [rule["expr"] for rule in rules(Deployment())["groups"][0]["rules"]]


def names_in(expressions):
    return set(re.findall(r"\bray_(?!io_cluster)\w+", " ".join(expressions)))


@pytest.fixture
def published(monkeypatch):
    """What reaches Ray's metrics: name and tags to value. Names are still checked by Ray itself."""
    values = {}

    def note(self, value=1.0, tags=None):
        values.setdefault((self.info["name"], *sorted((tags or {}).items())), []).append(value)

    monkeypatch.setattr(Gauge, "set", note)
    monkeypatch.setattr(Counter, "inc", note)
    monkeypatch.setattr(Histogram, "observe", note)
    return values


def logged_step():
    """The log of a real step with an evaluation, from a run on a GPU."""
    lines = (ROOT / "docs/results/gpu/metrics.jsonl").read_text().splitlines()
    return next(record for record in map(json.loads, lines) if record["step"] == 12)


def test_a_real_step_is_published(published):
    logs = {**logged_step(), "eval/greedy/success_rate": 0.5, "eval/sampled/success_rate": 0.25}
    trajectories = [SimpleNamespace(turns=[None] * 7), None, SimpleNamespace(turns=[None] * 15)]
    trainer = SimpleNamespace(
        recipe=SimpleNamespace(mazes_per_step=16), generator=SimpleNamespace(trajectories=trajectories)
    )
    metrics = RunMetrics("run-1")
    step = SimpleNamespace(global_step=12, total_steps=24, logs=logs)
    metrics.on_train_start(trainer, SimpleNamespace(global_step=10, total_steps=24, logs=None), None)
    metrics.on_step_end(trainer, step, None)
    metrics.on_save(trainer, step, None)
    metrics.on_log(trainer, step, None)

    def values(name, **tags):
        return published["visgym_maze_" + name, *sorted({"run_id": "run-1", **tags}.items())]

    assert values("step") == [10, 12]
    assert values("steps_left") == [14, 12]
    assert values("starts_total") == [1]
    assert values("episode_turns") == [7, 15]
    assert values("zero_variance_share") == [logs["rollouts/zero_variance_groups"] / 16]
    assert values("eval_success_rate", mode="greedy") == [0.5]
    assert values("phase_seconds", phase="generate") == [logs["timing/generate"]]
    assert values("phase_seconds", phase="step") == [logs["timing/step"]]
    assert len(values("checkpoint_timestamp_seconds")) == 2
    for measure in MEASURES:
        if measure.name != "kl":
            assert values(measure.name) == [logs[measure.key]]


def test_the_evaluation_before_the_first_step_is_published_alone(published):
    metrics = RunMetrics("run-1")
    logs = {"eval/greedy/success_rate": 0.4375}
    metrics.on_log(SimpleNamespace(), SimpleNamespace(global_step=0, total_steps=9, logs=logs), None)
    assert {key[0]: value for key, value in published.items()} == {"visgym_maze_eval_success_rate": [0.4375]}


def test_keys_and_phases_are_those_that_skyrl_logs():
    logs = logged_step()
    assert {measure.key for measure in MEASURES} - set(logs) == {"policy/policy_kl"}
    # A phase of a GPU run that had no such step yet is in none of its records.
    assert set(PHASES.values()) - set(logs) <= {
        "timing/eval",
        "timing/save_checkpoints",
        "timing/save_hf_model",
    }
    assert set(EVALUATIONS) == {"greedy", "sampled"}


def test_dashboard_and_alerts_ask_for_what_is_published():
    assert names_in(panel_expressions()) <= OURS | RAYS_OWN
    assert names_in(panel_expressions()) >= OURS
    assert names_in(alert_expressions()) <= OURS | RAYS_OWN


def test_the_dashboard_is_whole():
    made = dashboard()
    numbers = [panel["id"] for panel in made["panels"]]
    assert len(set(numbers)) == len(numbers)
    taken = set()
    for panel in made["panels"]:
        place = panel["gridPos"]
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not cells & taken
        assert max(x for x, _ in cells) < 24
        taken |= cells
    sources = {target["datasource"]["uid"] for panel in charts() for target in panel["targets"]}
    assert sources == {"${datasource}"}
    assert {"datasource", "run_id", "cluster"} == {v["name"] for v in made["templating"]["list"]}


@promtool
def test_the_alerts_do_what_they_say(tmp_path):
    shutil.copy(ROOT / "deploy/prometheus/alerts.yaml", tmp_path)
    shutil.copy(ROOT / "tests/deploy/alerts_test.yaml", tmp_path)
    done = subprocess.run(
        ["promtool", "test", "rules", "alerts_test.yaml"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    tested = {
        case["alertname"]
        for test in yaml.safe_load((tmp_path / "alerts_test.yaml").read_text())["tests"]
        for case in test["alert_rule_test"]
    }
    assert tested == {rule["alert"] for rule in rules(Deployment())["groups"][0]["rules"]}


@promtool
def test_every_panel_asks_valid_promql(tmp_path):
    values = {"$run_id": ".*", "$cluster": ".*", "$__rate_interval": "1m"}
    texts = panel_expressions()
    for name, value in values.items():
        texts = [text.replace(name, value) for text in texts]
    assert not [text for text in texts if "$" in text]
    records = [{"record": f"panel:{number}", "expr": text} for number, text in enumerate(texts)]
    (tmp_path / "panels.yaml").write_text(yaml.safe_dump({"groups": [{"name": "all", "rules": records}]}))
    done = subprocess.run(
        ["promtool", "check", "rules", "panels.yaml"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
