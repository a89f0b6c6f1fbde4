"""How does SkyRL's trainer train on mazes? Both backends share these overrides."""

from __future__ import annotations

import contextlib
import copy
import shutil
import zipfile
from collections.abc import Generator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import torch
from skyrl.backends.skyrl_train.inference_servers.utils import resolve_policy_model_name
from skyrl.train.config import SamplingParams
from skyrl.train.evaluate import evaluate
from skyrl.train.trainer import RayPPOTrainer
from skyrl.train.utils.callbacks import CallbackInput, TrainingCallback, TrainingControl
from torchdata.stateful_dataloader import StatefulDataLoader

from visgym_maze.dialogue.trajectory import StopReason, Trajectory
from visgym_maze.evaluation import Report
from visgym_maze.files import write_text
from visgym_maze_skyrl.credit import over_tokens, turns_of_groups
from visgym_maze_skyrl.hot_load import check_hot_load, newest_adapter
from visgym_maze_skyrl.model_card import write_model_card
from visgym_maze_skyrl.recipe import Recipe

LATEST = "latest_ckpt_global_step.txt"
_PARTS = ("model", "optim", "extra_state")


class StopTraining(BaseException):
    """Raised out of SkyRL's loop once a requested stop has been carried out.

    Not an ``Exception``, because SkyRL reports every one of those as a failed training.
    """


@dataclass
class Evaluation:
    """One evaluation of the policy on the held-out mazes.

    Attributes:
        step: Optimisation steps done.
        mode: ``"greedy"`` or ``"sampled"``.
        report: The scores.
        trajectories: The episodes.
        pass_at_1: SkyRL's own metric, the share of episodes whose last reward is above zero.
    """

    step: int
    mode: str
    report: Report
    trajectories: list[Trajectory]
    pass_at_1: float


class MazeTrainer(RayPPOTrainer):
    """SkyRL's trainer with ordered groups, two evaluations, and checkpoints that are whole or absent."""

    recipe: Recipe
    evaluations: list[Evaluation]
    stop_requested: bool = False

    def init_weight_sync_state(self) -> None:
        """Also have the first weight sync checked, if adapters are what is synced."""
        super().init_weight_sync_state()
        if cast("Any", self.cfg.trainer.policy.model.lora).rank == 0:
            return
        dispatch: Any = self.dispatch
        sync = dispatch.save_weights_for_sampler

        async def first_sync(model_id: str | None = None) -> None:
            dispatch.save_weights_for_sampler = sync
            await sync(model_id)
            await self.check_adapter_sync()

        dispatch.save_weights_for_sampler = first_sync

    async def check_adapter_sync(self) -> None:
        """Stop the run if the engine does not follow the adapters that it is given."""
        folder = newest_adapter(Path(cast("Any", self.cfg.trainer.policy.model.lora).lora_sync_path))
        name = resolve_policy_model_name(self.cfg)
        await check_hot_load(self.inference_engine_client, self.tokenizer, folder, name)

    def _build_train_dataloader_and_compute_training_steps(self) -> None:
        """Rows in their own order: the dataset already is the sequence of groups of the whole run."""
        dataset: Any = self.train_dataset
        batch = self.cfg.trainer.train_batch_size
        self.train_dataloader = StatefulDataLoader(
            dataset, batch_size=batch, collate_fn=dataset.collate_fn, drop_last=True
        )
        self.total_training_steps = len(self.train_dataloader)

    @torch.no_grad()
    def compute_advantages_and_returns(self, data: Any) -> Any:
        """SkyRL's advantages without lost rollouts, and those of single turns if asked for."""
        played: list[Trajectory | None] = cast("Any", self.generator).trajectories
        groups: list[str] = list(data.metadata["uids"])
        # A lost rollout in a group of its own counts in no other's mean or deviation.
        data.metadata["uids"] = [
            f"{group}-lost-{i}" if i < len(played) and played[i] is None else group
            for i, group in enumerate(groups)
        ]
        try:
            data = super().compute_advantages_and_returns(data)
        finally:
            data.metadata["uids"] = groups
        if self.recipe.turn_credit:
            turns = turns_of_groups(played, groups, self.recipe.turn_discount)
            credit = over_tokens(turns, data["loss_mask"])
            data["advantages"] = data["advantages"] + self.recipe.turn_credit * credit
        return data

    @torch.no_grad()
    async def eval(self, vllm_metrics_scraper: Any = None) -> dict[str, float]:
        """Play every held-out maze greedily and sampled, on one set of mazes."""
        metrics: dict[str, float] = {}
        generator, loader = cast("Any", self.generator), cast("Any", self.eval_dataloader)
        for mode, temperature in (("greedy", 0.0), ("sampled", self.recipe.eval_temperature)):
            # Only this field of the configuration differs between the two evaluations.
            cfg = copy.copy(self.cfg)
            cfg.generator = copy.copy(self.cfg.generator)
            base: SamplingParams = self.cfg.generator.sampling_params
            cfg.generator.eval_sampling_params = replace(base, temperature=temperature)
            scores = await evaluate(
                loader,
                generator,
                cfg,
                self.global_step,
                self.tokenizer,
                vllm_metrics_scraper=vllm_metrics_scraper,
            )
            # A lost episode is a failure, not a maze less: every score rests on all held-out mazes.
            groups = cast("Any", self.eval_dataset).groups
            done = [
                t or Trajectory(g.layout, (), StopReason.ERROR, self.recipe.max_turns)
                for t, g in zip(generator.trajectories, groups, strict=True)
            ]
            report = Report.of(done, goal_rule=self.recipe.goal_rule, mode=mode, temperature=temperature)
            pass_at_1 = float(scores["eval/all/pass_at_1"])
            self.evaluations.append(Evaluation(self.global_step, mode, report, done, pass_at_1))
            metrics[f"eval/{mode}/successes"] = report.successes
            metrics[f"eval/{mode}/success_rate"] = report.success_rate
            metrics.update({k.replace("eval/", f"eval/{mode}/", 1): v for k, v in scores.items()})
        return metrics

    def save_checkpoints(self) -> str:
        """Write a checkpoint under another name, rename it, then point to it."""
        with self._staged("ckpt_path") as final:
            super().save_checkpoints()
        write_text(final / LATEST, str(self.global_step))
        self._cleanup_old_checkpoints()
        return str(final / f"global_step_{self.global_step}")

    def save_models(self) -> None:
        """Write an export under another name, then rename it."""
        with self._staged("export_path"):
            super().save_models()
            written = Path(self.cfg.trainer.export_path) / f"global_step_{self.global_step}" / "policy"
            write_model_card(written, self.recipe, self.global_step)

    @contextlib.contextmanager
    def _staged(self, setting: str) -> Generator[Path]:
        """Have SkyRL write a step's folder below ``.staging``, and rename it once it is whole."""
        final = Path(getattr(self.cfg.trainer, setting))
        staging, name = final / ".staging", f"global_step_{self.global_step}"
        shutil.rmtree(staging, ignore_errors=True)
        setattr(self.cfg.trainer, setting, str(staging))
        try:
            yield final
        finally:
            setattr(self.cfg.trainer, setting, str(final))
        shutil.rmtree(final / name, ignore_errors=True)
        (staging / name).rename(final / name)
        shutil.rmtree(staging, ignore_errors=True)

    def load_checkpoints(self) -> tuple[int, str]:
        """Also make the export of that step if the run died before it."""
        step, path = super().load_checkpoints()
        export = Path(self.cfg.trainer.export_path) / f"global_step_{step}"
        if step and step % self.cfg.trainer.hf_save_interval == 0 and not export.exists():
            self.global_step = step
            self.save_models()
        return step, path


class StopWhenAsked(TrainingCallback):
    """Ends training after the current step, with a checkpoint, once a stop was requested."""

    def on_step_end(self, trainer: Any, callback_input: CallbackInput, control: TrainingControl) -> None:
        """Ask for a checkpoint if the run shall stop."""
        if trainer.stop_requested:
            control.should_save = True

    def on_log(self, trainer: Any, callback_input: CallbackInput, control: TrainingControl) -> None:
        """The step is complete and saved."""
        if trainer.stop_requested and "timing/step" in (callback_input.logs or {}):
            raise StopTraining


def repair_latest(folder: Path) -> int | None:
    """Make the pointer to the newest checkpoint right; needed after a crash between two writes.

    Returns:
        The step that a resumed run continues from, or None if there is no checkpoint.
    """
    shutil.rmtree(folder / ".staging", ignore_errors=True)
    steps: list[int] = []
    for path in sorted(folder.glob("global_step_*")):
        number = path.name.removeprefix("global_step_")
        if number.isdecimal() and _is_whole(path):
            steps.append(int(number))
        elif number.isdecimal():
            # Kept under another name: nothing is lost, and SkyRL does not take it for the newest.
            kept = path.with_name(f".damaged_{path.name}")
            shutil.rmtree(kept, ignore_errors=True)
            path.rename(kept)
    steps.sort()
    if not steps:
        (folder / LATEST).unlink(missing_ok=True)
        return None
    pointer = folder / LATEST
    if not pointer.is_file() or pointer.read_text(encoding="utf-8").strip() != str(steps[-1]):
        write_text(pointer, str(steps[-1]))
    return steps[-1]


def _is_whole(checkpoint: Path) -> bool:
    """Whether the parts of all ranks are there, none of them cut short (torch.save writes zip archives)."""
    policy = [*(checkpoint / "policy").glob("*_world_size_*_rank_*.pt")]
    sizes = {int(path.name.split("_world_size_")[1].split("_")[0]) for path in policy}
    if len(sizes) != 1:
        return False
    size = sizes.pop()
    expected = {f"{kind}_world_size_{size}_rank_{rank}.pt" for kind in _PARTS for rank in range(size)}
    parts = [checkpoint / "trainer_state.pt", checkpoint / "data.pt"]
    return expected <= {path.name for path in policy} and all(map(zipfile.is_zipfile, parts + policy))
