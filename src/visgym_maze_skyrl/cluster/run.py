"""How does a run look on GPUs? SkyRL's experiment inside a Ray task."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import ray
import torch
from skyrl.train.utils.utils import initialize_ray
from transformers import AutoTokenizer

from visgym_maze_skyrl.config import skyrl_config
from visgym_maze_skyrl.experiment import MazeExperiment
from visgym_maze_skyrl.local.pictures import Picture
from visgym_maze_skyrl.masking import sampling_arguments
from visgym_maze_skyrl.recipe import Recipe
from visgym_maze_skyrl.report import write_report
from visgym_maze_skyrl.runlog import is_finished, owes_evaluation, record_run
from visgym_maze_skyrl.trainer import MazeTrainer, repair_latest
from visgym_maze_skyrl.trust import check_checkpoint, check_model


class ClusterTrainer(MazeTrainer):
    """The trainer with this package's policy workers."""

    def build_models(self, PolicyWorker: Any, CriticWorker: Any, RefWorker: Any) -> None:  # noqa: N803
        """Replace SkyRL's policy worker."""
        from visgym_maze_skyrl.cluster.worker import MazePolicyWorker

        super().build_models(MazePolicyWorker, CriticWorker, RefWorker)


class ClusterExperiment(MazeExperiment):
    """One training run over vLLM engines and FSDP workers."""

    trainer_class = ClusterTrainer

    def picture_encoder(self) -> Callable[[Picture], str]:
        """Pictures travel over HTTP, each of them once, in the engine's precision."""
        from visgym_maze_skyrl.cluster.pictures import PictureEncoder

        return PictureEncoder(getattr(torch, self.cfg.generator.inference_engine.model_dtype))


def run(recipe: Recipe, folder: Path, model_path: str, passed: list[str], *, resume: bool) -> dict[str, Any]:
    """Train on the Ray cluster that this machine belongs to, or on a new one of this machine alone.

    Args:
        recipe: The settings.
        folder: The folder of the run; on several nodes a shared one.
        model_path: Folder or Hub id of the model.
        passed: Overrides in SkyRL's own names.
        resume: Whether to go on from the newest checkpoint.

    Returns:
        The content of ``report.json``.
    """
    check_model(model_path, allowed=recipe.trust_remote_code)
    done = repair_latest(folder / "checkpoints") if resume else None
    if done is not None:
        check_checkpoint(folder / "checkpoints" / f"global_step_{done}")
    cfg: Any = skyrl_config(recipe, folder, model_path, passed, local=False, resume=done is not None)
    if not resume:
        record_run(folder, recipe, passed)
    cfg.generator.sampling_params.additional_kwargs = sampling_arguments(
        AutoTokenizer.from_pretrained(model_path)
    )
    cfg.trainer.eval_before_train = owes_evaluation(folder, recipe, done or 0)
    # A killed run leaves its last adapter, which must not be taken for the one that is synced next.
    shutil.rmtree(folder / "lora_sync", ignore_errors=True)
    if not is_finished(folder, recipe, done):
        initialize_ray(cfg)
        ray.get(cast("Any", _train).remote(cfg, recipe, folder))
    return write_report(folder, recipe, backend="skyrl")


# The supervisor alone starts a run again: a task that Ray repeats would not know of the checkpoints.
@ray.remote(num_cpus=1, max_retries=0)
def _train(cfg: Any, recipe: Recipe, folder: Path) -> None:
    """Run inside a task, so that the loop never occupies the head node."""
    from rich.console import Console

    from visgym_maze_skyrl.cluster.hung import register
    from visgym_maze_skyrl.local.shims import stand_in_for_flash_attn
    from visgym_maze_skyrl.observability import RunMetrics
    from visgym_maze_skyrl.progress import ProgressDisplay
    from visgym_maze_skyrl.recorder import Recorder

    stand_in_for_flash_attn()
    console = Console(soft_wrap=True)
    if watched := register(recipe):
        console.print(watched, highlight=False)
    callbacks = [Recorder(folder), ProgressDisplay(console), RunMetrics(folder.name)]
    ClusterExperiment(cfg, recipe, folder, callbacks).run()
