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
        """Make the workers and load the model into each."""
        # SkyRL's workers can be imported only after the stand-ins of this module are in place.
        from visgym_maze_skyrl.local.worker import LocalDispatch, LocalPolicyWorker, LocalReferenceWorker

        path = str(self.cfg.trainer.policy.model.path)
        worker = self._prepared(LocalPolicyWorker, path, self.total_training_steps)
        worker._set_pad_token_id(cast("Any", self.tokenizer).pad_token_id)
        reference = None
        if self.cfg.trainer.algorithm.use_kl_loss:
            reference = self._prepared(LocalReferenceWorker, path)
        self.policy_model, self.ref_model = worker, reference
        client = self.inference_engine_client
        self.dispatch = LocalDispatch(worker, reference, self.cfg, client)  # type: ignore[assignment]

    def _prepared(self, kind: Any, *arguments: Any) -> Any:
        """A worker of this kind with its model loaded."""
        worker = kind(
            cfg=self.cfg.trainer,
            world_size=1,
            rank=0,
            local_rank=0,
            master_addr="127.0.0.1",
            master_port=1,
            sequence_parallel_size=1,
        )
        worker.init_worker_process_group()
        worker.init_model(*arguments)
        forbid(worker.hf_model, self.tokenizer)
        return worker

    async def check_adapter_sync(self) -> None:
        """Leave the engine's random streams where they were."""
        engine = self.inference_engine_client.engine  # type: ignore[attr-defined]
        state = engine.state_dict()
        await super().check_adapter_sync()
        engine.load_state_dict(state)

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
        engine = Engine(model.to(self.recipe.device), tokenizer, seed=self.recipe.seed)
        return LocalClient(engine, ChatCodec(tokenizer, PictureReader(path)), model_name=path)
