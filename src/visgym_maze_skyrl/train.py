"""How is a run started, stopped and resumed? The functions behind ``examples/train_grpo.py``."""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from visgym_maze.files import locked
from visgym_maze_skyrl.backend import BACKENDS, check_environment, choose_backend
from visgym_maze_skyrl.recipe import (
    RECIPES,
    TINY_MODEL,
    Recipe,
    RecipeError,
    output_folder,
    override,
    recipe_named,
)
from visgym_maze_skyrl.runlog import (
    FolderInUseError,
    check_run,
    is_finished,
    make_folder,
    owes_evaluation,
    record_run,
)

EXAMPLES = """examples:
  python examples/train_grpo.py                                 train the tiny model on this machine
  python examples/train_grpo.py --recipe smoke                  see every part work, in half a minute
  python examples/train_grpo.py steps=80 learning_rate=1e-4     change fields of the recipe
  python examples/train_grpo.py model=FOLDER size=9 output=runs/mine
  python examples/train_grpo.py --resume                        go on after a stop or a crash
  python examples/train_grpo.py trainer.algorithm.eps_clip_high=0.28   any field of SkyRL's own configuration
"""


def parse_arguments(argv: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description="Train a vision-language model on mazes with GRPO (SkyRL).",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--recipe", default="tiny", metavar="NAME", help=f"one of {', '.join(RECIPES)}")
    parser.add_argument("--backend", default="auto", choices=BACKENDS, help="default: by what is here")
    parser.add_argument("--resume", action="store_true", help="go on from the newest checkpoint")
    parser.add_argument("--submit", metavar="ADDRESS", help="train on that Ray cluster; see docs/cluster.md")
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="change a field of the recipe")
    return parser.parse_intermixed_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Run a training from the command line; returns the exit code (2 for bad input)."""
    arguments = parse_arguments(argv)
    if arguments.submit:
        return _submit(arguments)
    try:
        check_environment()
        recipe, passed = override(recipe_named(arguments.recipe), arguments.overrides)
        backend, why = choose_backend(arguments.backend, gpus=recipe.gpus)
        print(f"backend: {backend} ({why})", flush=True)
        train(recipe, backend=backend, passed=passed, resume=arguments.resume)
    except RecipeError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted; if the run has begun, go on with --resume", file=sys.stderr)
        return 130
    return 0


def _submit(arguments: argparse.Namespace) -> int:
    from visgym_maze_skyrl.cluster.command import main as command

    if arguments.resume:
        print("error: a run on a cluster is resumed with visgym-maze-train resume RUN", file=sys.stderr)
        return 2
    options = ["--recipe", arguments.recipe, "--backend", arguments.backend]
    return command(["submit", "--address", arguments.submit, *options, *arguments.overrides])


def train(
    recipe: Recipe, *, backend: str = "local", passed: list[str] | None = None, resume: bool = False
) -> dict[str, Any]:
    """Train, evaluate, save and report.

    Args:
        recipe: The settings.
        backend: ``"local"`` or ``"skyrl"``.
        passed: Overrides in SkyRL's own names.
        resume: Whether to go on from the newest checkpoint of the run's folder.

    Returns:
        The content of ``report.json``.

    Raises:
        RecipeError: If something about the input is wrong; nothing was changed then.
    """
    folder = output_folder(recipe).absolute()
    model_path = resolve_model(recipe.model)
    recipe.split("eval")
    make_folder(folder)
    refusal = FolderInUseError(f"another run is writing to {folder}; choose another with output=FOLDER")
    with locked(folder, refusal):
        check_run(folder, recipe, passed or [], resume=resume)
        run = _run_local if backend == "local" else _run_skyrl
        return run(recipe, folder, model_path, passed or [], resume)


def resolve_model(model: str) -> str:
    """The folder of the shipped model, an existing folder, or a Hub id.

    Raises:
        RecipeError: If a path is given that holds no model.
    """
    if model == TINY_MODEL:
        from visgym_maze_skyrl.assets import tiny_model_folder

        return str(tiny_model_folder())
    path = Path(model).expanduser()
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise RecipeError(f"model={model} has no config.json; give a Hugging Face model folder")
        return str(path.absolute())
    if model.startswith((".", "/", "~")):
        raise RecipeError(f"model={model} does not exist; give a model folder, a Hub id, or {TINY_MODEL!r}")
    return model


def _run_local(
    recipe: Recipe, folder: Path, model_path: str, passed: list[str], resume: bool
) -> dict[str, Any]:
    # While libraries are imported an exception may be swallowed, so Ctrl-C is only noted at first.
    asked: list[None] = []
    restore = _stop_on_interrupt(lambda: asked.append(None))
    try:
        return _start_local(recipe, folder, model_path, passed, resume, asked)
    finally:
        restore()


def _start_local(
    recipe: Recipe, folder: Path, model_path: str, passed: list[str], resume: bool, asked: list[None]
) -> dict[str, Any]:
    _quiet(folder)
    if recipe.device == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""  # SkyRL's workers take a GPU where they see one
    import torch

    if recipe.device == "cuda" and not torch.cuda.is_available():
        raise RecipeError("device=cuda, but PyTorch finds no GPU here; leave it out to train on the CPU")
    torch.set_num_threads(recipe.threads or os.cpu_count() or 1)
    from rich.console import Console

    from visgym_maze_skyrl.config import skyrl_config
    from visgym_maze_skyrl.local.experiment import LocalExperiment
    from visgym_maze_skyrl.progress import ProgressDisplay
    from visgym_maze_skyrl.recorder import Recorder
    from visgym_maze_skyrl.report import write_report
    from visgym_maze_skyrl.trainer import StopTraining, repair_latest
    from visgym_maze_skyrl.trust import check_checkpoint, check_model

    check_model(model_path, allowed=recipe.trust_remote_code)
    console = Console(soft_wrap=True)
    done = repair_latest(folder / "checkpoints") if resume else None
    if done is not None and done > recipe.steps:
        raise RecipeError(f"this run has done {done} steps already; resume it with steps={done} or more")
    if done is not None:
        check_checkpoint(folder / "checkpoints" / f"global_step_{done}")
    cfg = skyrl_config(recipe, folder, model_path, passed, local=True, resume=done is not None)
    cfg.trainer.eval_before_train = owes_evaluation(folder, recipe, done or 0)
    if resume:
        console.print(f"resuming after step {done}" if done else "no checkpoint yet: starting over")
    display = ProgressDisplay(console)
    callbacks = [Recorder(folder), display, *_published(folder)]
    try:
        experiment = LocalExperiment(cfg, recipe, folder, callbacks)
    except OSError as error:
        raise RecipeError(f"model={recipe.model} cannot be loaded: {str(error).splitlines()[0]}") from error
    if asked:
        raise KeyboardInterrupt
    if not resume:
        record_run(folder, recipe, passed)
    console.print(
        f"{len(experiment.recipe.split('train'))} training mazes, {recipe.eval_levels} held-out mazes of "
        f"{recipe.size}x{recipe.size}; output in {output_folder(recipe)}"
    )
    restore = _stop_on_interrupt(lambda: _request_stop(experiment, console))
    try:
        if not is_finished(folder, recipe, done):
            experiment.run()
    except StopTraining:
        console.print("stopped after this step; go on with --resume")
    finally:
        display.close()
        restore()
    report = write_report(folder, recipe, backend="local")
    for record in report["evaluations"][-2:]:
        solved = f"{record['report']['successes']}/{record['report']['episodes']}"
        console.print(f"{record['mode']}: {solved} at step {record['step']}")
    console.print(f"report: {output_folder(recipe) / 'report.md'}")
    return report


def _published(folder: Path) -> list[Any]:
    """Ray's metrics, if this process belongs to a cluster."""
    import ray

    if not ray.is_initialized():
        return []
    from visgym_maze_skyrl.observability import RunMetrics

    return [RunMetrics(folder.name)]


def _run_skyrl(
    recipe: Recipe, folder: Path, model_path: str, passed: list[str], resume: bool
) -> dict[str, Any]:
    from visgym_maze_skyrl.cluster.run import run

    return run(recipe, folder, model_path, passed, resume=resume)


def _quiet(folder: Path) -> None:
    """Keep bars and notices of the libraries off the screen; must come before they are imported."""
    import logging
    import warnings

    os.environ.setdefault("TQDM_DISABLE", "1")
    os.environ.setdefault("HF_DATASETS_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    # OpenMP's threads spin while they wait; on busy cores that costs ten times the work itself.
    os.environ.setdefault("GOMP_SPINCOUNT", "20000")
    # SkyRL prints every step in full to stderr; the recorder keeps that log in a file instead.
    os.environ.setdefault("LOG_LEVEL", "ERROR")
    from loguru import logger

    logger.remove()
    importlib.import_module("skyrl.utils.log")  # sets the level that is raised here
    logging.getLogger("skyrl").setLevel(logging.WARNING)
    for module in ("torch", "torchdata", "transformers", "peft"):
        warnings.filterwarnings("ignore", module=module)


def _request_stop(experiment: Any, console: Any) -> None:
    trainer = getattr(experiment, "trainer", None)
    if trainer is None or trainer.stop_requested:
        raise KeyboardInterrupt
    trainer.stop_requested = True
    console.print("stopping after this step with a checkpoint; press Ctrl-C again to stop at once")


def _stop_on_interrupt(request: Callable[[], None]) -> Callable[[], None]:
    """Call ``request`` on Ctrl-C; returns what puts the old handler back."""
    old = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, lambda number, frame: request())
    return lambda: signal.signal(signal.SIGINT, old)  # type: ignore[func-returns-value]
