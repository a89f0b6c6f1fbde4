"""When should somebody be called? Prometheus alert rules for a run, made from the table of metrics."""

from __future__ import annotations

from typing import Any

from visgym_maze_skyrl.deploy.deployment import Deployment
from visgym_maze_skyrl.run_metrics import exported

STEP_MINUTES = 60
"""Longest step that is still taken for one, with evaluation and checkpoint; a guess until it is measured."""

EVALUATION_DROP = 0.15
"""Fall below the best evaluation that is no chance: 64 mazes have a standard error of 0.06."""

MEMORY = "6h"
"""How long a run that has vanished, or a cluster that has shrunk, is remembered."""


def rules(d: Deployment) -> dict[str, Any]:
    """The content of a rules file."""
    rate = f'{exported("eval_success_rate")}{{mode="greedy"}}'
    hours = d.recipe.checkpoint_every * STEP_MINUTES // 2 // 60
    saved = exported("checkpoint_timestamp_seconds")
    last_step, left = exported("step_timestamp_seconds"), exported("steps_left")
    nodes = "count by (ray_io_cluster) (ray_node_mem_total)"
    alerts = [
        # A dead driver takes its series along, so the last values are looked up; a complete run is left out.
        _alert(
            "MazeRunStandsStill",
            f"(time() - max by (run_id) (max_over_time({last_step}[{MEMORY}])) > {60 * STEP_MINUTES}) "
            f"unless on (run_id) (min by (run_id) (min_over_time({left}[{MEMORY}])) == 0)",
            "5m",
            "critical",
            f"{{{{ $labels.run_id }}}} has done no step for {STEP_MINUTES} minutes",
            "See whether its job still runs, and resume it if not. A run that was stopped on purpose is also "
            f"reported, for {MEMORY}.",
        ),
        _alert(
            "MazeEvaluationDropped",
            f"max by (run_id) (max_over_time({rate}[7d])) - max by (run_id) ({rate}) > {EVALUATION_DROP}",
            "1m",
            "warning",
            "{{ $labels.run_id }} solves fewer held-out mazes than it did",
            "Compare entropy and the gap of log-probabilities; publish the adapter of the best step.",
        ),
        _alert(
            "MazeGroupsWithoutVariance",
            f"avg by (run_id) (avg_over_time({exported('zero_variance_share')}[1h])) > 0.8",
            "15m",
            "warning",
            "{{ $labels.run_id }} learns from less than a fifth of its groups",
            "Its mazes are too easy or too hard for it: change the size.",
        ),
        _alert(
            "RayNodesLost",
            f"{nodes} < max_over_time(({nodes})[{MEMORY}:1m])",
            "5m",
            "critical",
            "{{ $labels.ray_io_cluster }} has fewer nodes than before",
            "HyperPod replaces a broken node by itself if node recovery is on; the run waits for it.",
        ),
        _alert(
            "MazeCheckpointTooOld",
            f"time() - max by (run_id) ({saved}) > {3600 * hours}",
            "5m",
            "warning",
            f"{{{{ $labels.run_id }}}} has no checkpoint younger than {hours} hours",
            "See whether the shared file system is full; a fault now costs all of that time.",
        ),
    ]
    return {"groups": [{"name": "visgym-maze", "rules": alerts}]}


def _alert(name: str, expression: str, wait: str, severity: str, summary: str, remedy: str) -> dict[str, Any]:
    return {
        "alert": name,
        "expr": expression,
        "for": wait,
        "labels": {"severity": severity},
        "annotations": {"summary": summary, "description": remedy},
    }
