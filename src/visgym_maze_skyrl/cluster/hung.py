"""Who notices that a run hangs without an error? HyperPod's agent, once it knows how often a step is printed.

Without rules it watches workers of Ray Train alone, which SkyRL does not use.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

from visgym_maze_skyrl.deploy.alerts import STEP_MINUTES
from visgym_maze_skyrl.recipe import Recipe

AGENT = "HYPERPOD_JMA_HOST"
"""Environment variable that names the agent's host; the manifests set it in every pod."""

START_MINUTES = 120 + STEP_MINUTES
"""Longest time to the first step: the placement group waits for lost nodes too."""


def rules(recipe: Recipe) -> list[dict[str, Any]]:
    """Rules on what the training process prints: a line for every step, none after the last.

    Args:
        recipe: The settings; its number of steps says which line is the last.

    Returns:
        Rules in the toolkit's form; patterns are RE2, times are minutes.
    """
    return [
        {
            "name": "visgym-maze-step",
            "type": "log_pattern",
            "enabled": True,
            "log_pattern": r"step +\d+/\d+ ",
            "timeout_minutes": STEP_MINUTES,
            "start_timeout_minutes": START_MINUTES,
            "stop_pattern": rf"step +{recipe.steps}/{recipe.steps} ",
        }
    ]


def register(recipe: Recipe) -> str:
    """Tell the agent, if there is one; call it in the Ray process that prints the steps.

    A hung run is reported and not killed: how long a step of a large recipe takes was never measured.

    Returns:
        What came of it, in words; empty where there is no agent. Nothing here ends a run.
    """
    if not os.environ.get(AGENT):
        return ""
    try:
        toolkit: Any = importlib.import_module("toolkit_for_ray_on_sagemaker_ai.log_monitoring")
    except ImportError:
        return f"{AGENT} is set, but hung jobs are not watched: install 'visgym-maze[hyperpod]' in the image"
    config = toolkit.LogMonitorConfig(enabled=True, rules=rules(recipe), action="notify")
    result = toolkit.SageMakerLogMonitoring(config).start().result
    if result["status"] == "configured":
        return f"HyperPod reports this run as hung after {STEP_MINUTES} minutes without a step"
    return f"hung jobs are not watched: {result.get('message') or result.get('reason')}"
