"""How does a run get to a cluster? One id names its job, its folder and all that it writes."""

from __future__ import annotations

import re
import shlex
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from visgym_maze_skyrl.cluster.jobs import RUN_KEY, Jobs
from visgym_maze_skyrl.cluster.package import pack
from visgym_maze_skyrl.recipe import Recipe, RecipeError, override, recipe_named

_SUPERVISE = ("python", "-m", "visgym_maze_skyrl.cluster.supervise")

STOP_SECONDS = 900
"""How long a stopped job may take to end its step and write a checkpoint; Ray alone allows three seconds."""


@dataclass(frozen=True)
class Submission:
    """What is asked of a cluster.

    Attributes:
        run: Run id.
        entrypoint: Command line of the job.
    """

    run: str
    entrypoint: str

    @classmethod
    def of(
        cls, recipe: str, overrides: list[str], *, runs: str, run: str | None, backend: str, faults: int
    ) -> Submission:
        """Check the settings here, so that a mistake costs no queue.

        Args:
            recipe: Name of a recipe.
            overrides: ``key=value`` texts.
            runs: Folder of all runs, as the cluster's nodes see it.
            run: Run id; None for one made of the recipe's name and the time.
            backend: ``auto``, ``local`` or ``skyrl``.
            faults: Restarts without a new step before the supervisor gives up.

        Raises:
            RecipeError: If something about the settings is wrong.
        """
        run = run or new_run_id(recipe_named(recipe))
        _check_names(run, runs)
        if any(text.startswith("output=") for text in overrides):
            raise RecipeError("output= follows from the run id here; name the folder of all runs with --runs")
        settings = [f"output={PurePosixPath(runs) / run}", *overrides]
        override(recipe_named(recipe), settings)
        options = ["--recipe", recipe, "--backend", backend, "--faults", str(faults)]
        return cls(run, shlex.join([*_SUPERVISE, *options, *settings]))


def _check_names(run: str, runs: str) -> None:
    if not re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", run):
        raise RecipeError(f"run id {run!r} is not made of small letters, digits and '-', at most 63")
    if not PurePosixPath(runs).is_absolute():
        raise RecipeError(f"--runs {runs} must be an absolute path that every node of the cluster sees")


def new_run_id(recipe: Recipe) -> str:
    """The recipe's name and the time in UTC."""
    return f"{recipe.name}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}"


def submit(jobs: Jobs, submission: Submission) -> str:
    """Send a run that the cluster does not know yet; returns its submission id, which is the run id.

    Raises:
        RecipeError: If the cluster knows it.
        ClusterError: If the cluster refuses it.
    """
    if jobs.of_run(submission.run):
        raise RecipeError(
            f"the cluster knows a run {submission.run} already; resume it, or choose another id"
        )
    return _send(jobs, submission, submission.run)


def resume(jobs: Jobs, run: str, runs: str) -> str:
    """Have a run go on from its newest checkpoint, or find the job in which it is going on already.

    A cluster whose head was lost does not know the run; its settings are in its folder then.

    Args:
        jobs: The cluster.
        run: Run id.
        runs: Folder of all runs, as the cluster's nodes see it.

    Returns:
        The submission id to follow: of a new job, or of the last one if that waits, runs or has succeeded.

    Raises:
        RecipeError: If the run id or the folder is none.
        ClusterError: If the cluster refuses.
    """
    _check_names(run, runs)
    known = jobs.of_run(run)
    if not known:
        return _send(
            jobs, Submission(run, shlex.join([*_SUPERVISE, "--again", str(PurePosixPath(runs) / run)])), run
        )
    last = known[-1]
    if not last.status.is_terminal() or last.status.value == "SUCCEEDED":
        return str(last.submission_id)
    return _send(jobs, Submission(run, last.entrypoint), f"{run}-{len(known) + 1}")


def _send(jobs: Jobs, submission: Submission, job: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        environment: dict[str, Any] = {
            "working_dir": str(pack(Path(folder))),
            "env_vars": {"RAY_JOB_STOP_WAIT_TIME_S": str(STOP_SECONDS)},
        }
        return str(
            jobs.ask(
                "submit_job",
                entrypoint=submission.entrypoint,
                submission_id=job,
                runtime_env=environment,
                metadata={RUN_KEY: submission.run},
            )
        )
