"""How does SkyRL ask a model in its own process? An inference client over :class:`Engine`.

It answers the calls that SkyRL's generator and trainer make of a vLLM server: render, generate, finish,
load an adapter. Requests that arrive together are sampled as one batch.
"""

from __future__ import annotations

import asyncio
from typing import Any

from skyrl.backends.skyrl_train.inference_servers.base import InferenceEngineInterface

from visgym_maze_skyrl.local.chat import ChatCodec
from visgym_maze_skyrl.local.engine import Engine, Request

_QUIET_SECONDS = 0.002


class LocalClient(InferenceEngineInterface):
    """SkyRL's inference interface without a server.

    Args:
        engine: Samples answers.
        codec: Turns messages into tokens and pictures.
        model_name: Name that requests carry.
    """

    def __init__(self, engine: Engine, codec: ChatCodec, model_name: str) -> None:
        self.engine = engine
        self.codec = codec
        self.weight_version = 0
        self._model_name = model_name
        self._waiting: list[tuple[Request, asyncio.Future[Any]]] = []
        self._timer: asyncio.TimerHandle | None = None

    @property
    def model_name(self) -> str:
        """The name given at construction."""
        return self._model_name

    async def render_chat_completion(self, request_payload: dict[str, Any]) -> dict[str, Any]:
        """Token ids and pictures of a conversation, image placeholders expanded."""
        ids, pictures = self.codec.first(request_payload["json"]["messages"])
        placeholders: list[dict[str, int]] = []
        start = 0
        for picture in pictures:
            offset, length = ids.index(self.codec.image_id, start), self.codec.reader.tokens(picture)
            placeholders.append({"offset": offset, "length": length})
            start = offset + length
        features = {
            "mm_hashes": {"image": [picture.key for picture in pictures]},
            "mm_placeholders": {"image": placeholders},
            "kwargs_data": {"image": pictures},
        }
        return {"token_ids": ids, "features": features if pictures else None}

    async def generate(self, input_batch: Any, model: str | None = None) -> Any:
        """Sample one answer per prompt, together with whatever else is waiting."""
        sampling = input_batch["sampling_params"] or {}
        features = input_batch.get("mm_features") or [None] * len(input_batch["prompt_token_ids"])
        loop = asyncio.get_running_loop()
        futures: list[asyncio.Future[Any]] = []
        for ids, session, feature in zip(
            input_batch["prompt_token_ids"], input_batch["session_ids"], features, strict=True
        ):
            request = Request(
                session=str(session),
                ids=ids,
                pictures=feature["kwargs_data"]["image"] if feature else [],
                max_tokens=sampling["max_tokens"],
                temperature=sampling["temperature"],
                top_p=sampling.get("top_p", 1.0),
                top_k=sampling.get("top_k", -1),
            )
            future: asyncio.Future[Any] = loop.create_future()
            self._waiting.append((request, future))
            futures.append(future)
        # The batch starts once nothing new has arrived for a moment: episodes step in unison, so that is
        # almost always all of them.
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.call_later(_QUIET_SECONDS, self._flush)
        samples = [await future for future in futures]
        return {
            "responses": [self.codec.text(s.ids) for s in samples],
            "response_ids": [s.ids for s in samples],
            "stop_reasons": [s.stop_reason for s in samples],
            "response_logprobs": [s.logprobs for s in samples],
            "prompt_logprobs": None,
            "rollout_expert_indices": None,
            "rollout_sample_support": None,
        }

    def _flush(self) -> None:
        batch, self._waiting, self._timer = self._waiting, [], None
        batch = [(request, future) for request, future in batch if not future.done()]
        if not batch:
            return
        try:
            samples = self.engine.generate([request for request, _ in batch])
        except Exception as error:  # every caller has to learn of it
            for _, future in batch:
                future.set_exception(error)
            return
        for (_, future), sample in zip(batch, samples, strict=True):
            future.set_result(sample)

    async def finish_session(self, session_id: str) -> None:
        """Free the conversation's cache."""
        self.engine.release(session_id)

    async def update_named_weights(self, request: Any) -> None:
        """Load what the trainer hands over: an adapter folder, or a state dictionary."""
        if hasattr(request, "lora_path"):
            self.engine.load_adapter(request.lora_path)
        else:
            self.engine.load_weights(request)

    async def load_lora_adapter(self, lora_name: str, lora_path: str) -> dict[str, Any]:
        """Load an adapter folder."""
        self.engine.load_adapter(lora_path)
        return {"lora_name": lora_name}

    def increment_weight_version(self) -> None:
        """Count a weight sync."""
        self.weight_version += 1

    def is_sleeping(self) -> bool:
        """Never: there is no memory to give back."""
        return False

    async def get_world_size(self) -> tuple[int, int]:
        """One engine on one device."""
        return 1, 1

    async def reset_prefix_cache(self, reset_running_requests: bool = False) -> None:
        """Forget all conversations."""
        self.engine.clear()

    async def wake_up(self, *args: Any, **kwargs: Any) -> None:
        """Nothing to wake."""

    async def sleep(self, *args: Any, **kwargs: Any) -> None:
        """Nothing to put to sleep."""

    async def pause_generation(self) -> None:
        """Nothing runs between two calls."""

    async def resume_generation(self) -> None:
        """Nothing was paused."""

    async def teardown(self) -> None:
        """Forget all conversations."""
        self.engine.clear()

    def get_endpoint_url(self) -> str:
        """There is no endpoint."""
        raise NotImplementedError("the local backend has no HTTP endpoint")

    async def chat_completion(self, request_payload: dict[str, Any]) -> dict[str, Any]:
        """Not offered: the generator samples by token ids."""
        raise NotImplementedError("the local backend samples by token ids; use generate()")

    async def completion(self, request_payload: dict[str, Any]) -> dict[str, Any]:
        """Not offered: the generator samples by token ids."""
        raise NotImplementedError("the local backend samples by token ids; use generate()")
