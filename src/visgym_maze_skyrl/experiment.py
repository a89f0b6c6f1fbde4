"""Which parts make a run? SkyRL's experiment with mazes as data; the cluster backend uses it as it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from skyrl.backends.skyrl_train.inference_servers.utils import resolve_policy_model_name
from skyrl.train.config import SkyRLTrainConfig
from skyrl.train.entrypoints.main_base import BasePPOExp
from skyrl.train.utils.callbacks import TrainingCallback
from skyrl.train.utils.tracking import Tracking

from visgym_maze_skyrl.dataset import MazeDataset, eval_dataset, train_dataset
from visgym_maze_skyrl.env import register
from visgym_maze_skyrl.generator import MazeGenerator
from visgym_maze_skyrl.local.chat import ChatCodec
from visgym_maze_skyrl.local.pictures import Picture, PictureReader
from visgym_maze_skyrl.recipe import Recipe
from visgym_maze_skyrl.tracking import check_logger, kept_in
from visgym_maze_skyrl.trainer import MazeTrainer, StopWhenAsked


class MazeExperiment(BasePPOExp):
    """One training run.

    Args:
        cfg: SkyRL's configuration of the recipe.
        recipe: The recipe.
        folder: The folder of the run.
        callbacks: Called by the training loop, in order.
    """

    trainer_class: type[MazeTrainer] = MazeTrainer

    def __init__(
        self, cfg: SkyRLTrainConfig, recipe: Recipe, folder: Path, callbacks: Sequence[TrainingCallback] = ()
    ) -> None:
        self.recipe = recipe
        self.folder = folder
        self.callbacks = tuple(callbacks)
        register()
        check_logger(cfg.trainer.logger)
        super().__init__(cfg)

    def get_train_dataset(self) -> MazeDataset:  # type: ignore[override]
        """The groups of all steps."""
        return train_dataset(self.recipe)

    def get_eval_dataset(self) -> MazeDataset:  # type: ignore[override]
        """The held-out mazes."""
        return eval_dataset(self.recipe)

    def get_tracker(self) -> Tracking:
        """SkyRL's tracker, which keeps what it writes in the folder of the run."""
        with kept_in(self.folder):
            return super().get_tracker()

    def get_generator(self, cfg: Any, tokenizer: Any, inference_engine_client: Any) -> MazeGenerator:
        """The generator that both backends share."""
        return MazeGenerator(
            cfg.generator,
            cfg.environment.skyrl_gym,
            inference_engine_client,
            ChatCodec(tokenizer, PictureReader(cfg.trainer.policy.model.path)),
            resolve_policy_model_name(cfg),
            encode_picture=self.picture_encoder(),
            one_engine=cfg.generator.inference_engine.num_engines == 1,
            env_timeout=self.recipe.env_timeout,
            check_render=self.recipe.check_render,
        )

    def picture_encoder(self) -> Callable[[Picture], str] | None:
        """How a picture travels to the inference engine; None by reference."""
        return None

    def get_trainer(self, cfg: Any, **parts: Any) -> MazeTrainer:  # type: ignore[override]
        """SkyRL's trainer with the recipe and the callbacks."""
        trainer = self.trainer_class(cfg=cfg, **parts)
        trainer.recipe = self.recipe
        trainer.evaluations = []
        for callback in (*self.callbacks, StopWhenAsked()):
            trainer.add_callback(callback)
        return trainer
