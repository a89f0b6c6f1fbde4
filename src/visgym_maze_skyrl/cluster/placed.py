"""How does the embedded backend train on a node of a cluster? In one Ray task, lost with its node."""

from __future__ import annotations

import logging
import signal
from dataclasses import replace
from typing import Any, cast

import ray
from ray.exceptions import RayTaskError, TaskCancelledError

from visgym_maze_skyrl.recipe import Recipe, RecipeError, output_folder


def join() -> None:
    """Make this process a driver of the cluster that ``RAY_ADDRESS`` names, with its signals as they were."""
    handler = signal.getsignal(signal.SIGTERM)
    ray.init(address="auto", logging_level=logging.ERROR)
    signal.signal(signal.SIGTERM, handler)


def train_on_node(recipe: Recipe, passed: list[str], *, resume: bool) -> None:
    """Train on a node that has the GPUs of the recipe; an interrupt asks the task to end after its step.

    Args:
        recipe: The settings; ``gpus`` is what the task takes of one node.
        passed: Overrides in SkyRL's own names.
        resume: Whether to go on from the newest checkpoint.

    Raises:
        RecipeError: If something about the settings is wrong.
        RayError: If the node is lost.
    """
    asked: list[None] = []
    old = signal.signal(signal.SIGINT, lambda number, frame: asked.append(None))
    recipe = replace(recipe, output=str(output_folder(recipe).absolute()))
    task = cast("Any", _train).options(num_gpus=recipe.gpus).remote(recipe, passed, resume)
    sent = 0
    try:
        while not ray.wait([task], timeout=0.2)[0]:
            while sent < len(asked):
                ray.cancel(task, force=False)
                sent += 1
        ray.get(task)
    except TaskCancelledError:
        pass
    except RayTaskError as error:
        if isinstance(error.cause, RecipeError):
            raise error.cause from error
        raise
    finally:
        signal.signal(signal.SIGINT, old)


# The supervisor alone starts a run again: it repairs the folder, waits for nodes and counts.
@ray.remote(num_cpus=1, max_retries=0)
def _train(recipe: Recipe, passed: list[str], resume: bool) -> None:
    from visgym_maze_skyrl.cluster.hung import register
    from visgym_maze_skyrl.train import train

    if watched := register(recipe):
        print(watched)
    train(recipe, backend="local", passed=passed, resume=resume)
