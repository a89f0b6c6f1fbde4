"""How does a run look on one machine without a GPU? SkyRL's loop over one worker and one engine."""

from __future__ import annotations

from typing import Any, cast

import torch
from skyrl.backends.skyrl_train.inference_servers.base import InferenceEngineInterface
from skyrl.train.utils.trainer_utils import cleanup_old_checkpoints
from transformers import AutoModelForImageTextToText

from visgym_maze_skyrl.experiment import MazeExperiment
from visgym_maze_skyrl.local import shims
from visgym_maze_skyrl.local.chat import ChatCodec
from visgym_maze_skyrl.local.client import LocalClient
from visgym_maze_skyrl.local.engine import Engine
from visgym_maze_skyrl.local.pictures import PictureReader
from visgym_maze_skyrl.masking import forbid
from visgym_maze_skyrl.trainer import MazeTrainer

shims.install()


class LocalTrainer(MazeTrainer):
    """The trainer over one in-process worker, without a Ray runtime."""

    def build_models(self, PolicyWorker: Any, CriticWorker: Any, RefWorker: Any) -> None:  # noqa: N803
        """Make the worker and load the model into it."""
        from visgym_maze_skyrl.local.worker import LocalDispatch, LocalPolicyWorker

        worker = LocalPolicyWorker(
            cfg=self.cfg.trainer,
            world_size=1,
            rank=0,
            local_rank=0,
            master_addr="127.0.0.1",
            master_port=1,
            sequence_parallel_size=1,
        )
        tokenizer: Any = self.tokenizer
        worker.init_worker_process_group()
        worker.init_model(str(self.cfg.trainer.policy.model.path), self.total_training_steps)
        worker._set_pad_token_id(tokenizer.pad_token_id)
        forbid(worker.hf_model, tokenizer)
        self.policy_model = worker  # type: ignore[assignment]
        self.dispatch = LocalDispatch(worker, self.cfg, self.inference_engine_client)  # type: ignore[assignment]

    def load_checkpoints(self) -> tuple[int, str]:
        """Also bring the engine's random streams to where they were."""
        step, path = super().load_checkpoints()
        engine = self.inference_engine_client.engine  # type: ignore[attr-defined]
        engine.load_state_dict({**engine.state_dict(), "round": step})
        return step, path

    def _cleanup_old_checkpoints(self) -> None:
        cleanup_old_checkpoints(self.cfg.trainer.ckpt_path, self.cfg.trainer.max_ckpts_to_keep)


class LocalExperiment(MazeExperiment):
    """One training run in this process."""

    trainer_class = LocalTrainer

    def get_inference_client(self) -> InferenceEngineInterface:
        """An engine over a second copy of the model."""
        path, tokenizer = str(self.cfg.trainer.policy.model.path), cast("Any", self.tokenizer)
        model: Any = AutoModelForImageTextToText.from_pretrained(path, dtype=torch.float32)
        engine = Engine(model, tokenizer, seed=self.recipe.seed)
        return LocalClient(engine, ChatCodec(tokenizer, PictureReader(path)), model_name=path)
