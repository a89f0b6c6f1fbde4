"""How does SkyRL play groups of maze episodes? Token in, token out, one new picture per turn.

SkyRL's own vision-language generator renders the whole conversation again on every turn, cuts the
observation out by its expected offset, and sends every picture so far each time. Here the sampled tokens
are the history: only the new observation is encoded, in this process, and what was sampled is exactly what
is trained on.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import skyrl_gym
from loguru import logger
from skyrl.backends.skyrl_train.inference_servers.base import InferenceEngineInput
from skyrl.train.generators.base import GeneratorInput, GeneratorOutput, TrajectoryID
from skyrl.train.generators.skyrl_gym_generator import TrajectoryOutput
from skyrl.train.generators.skyrl_vlm_generator import SkyRLVLMGymGenerator

from visgym_maze.dialogue.episode import Message
from visgym_maze.dialogue.trajectory import StopReason, Trajectory
from visgym_maze_skyrl.batch import Place, batch_metrics, check_groups, replace_lost
from visgym_maze_skyrl.conversation import Conversation, RolloutFault
from visgym_maze_skyrl.env import MazeTextEnv
from visgym_maze_skyrl.env_threads import EnvThreads
from visgym_maze_skyrl.local.chat import ChatCodec
from visgym_maze_skyrl.local.pictures import Picture

_LONGEST_TOKEN = 128
"""Characters; tokenizers of language models have none that is longer."""


class MazeGenerator(SkyRLVLMGymGenerator):
    """SkyRL's generator with token-in-token-out history and faults that cost one rollout only.

    Args:
        generator_cfg: As for SkyRL's generator.
        skyrl_gym_cfg: As for SkyRL's generator.
        inference_engine_client: As for SkyRL's generator.
        codec: Turns messages into tokens and pictures, with the model's tokenizer.
        policy_model_name: As for SkyRL's generator.
        encode_picture: Puts a picture into the form that the client takes; None hands it over as it is.
            A picture that the engine has seen is then not sent again, but named by its hash.
        one_engine: Whether there is a single engine, so that what one conversation has sent is known
            to all; with several, only a conversation itself stays on one engine.
        env_timeout: Seconds that a call of the environment may take; more costs the rollout.
        check_render: Compare every conversation with the engine's own rendering of it; slow.

    Attributes:
        trajectories: Episodes of the last call of :meth:`generate`, in the order of its input; None
            for a rollout that was lost.
    """

    def __init__(
        self,
        generator_cfg: Any,
        skyrl_gym_cfg: Any,
        inference_engine_client: Any,
        codec: ChatCodec,
        policy_model_name: str | None = None,
        *,
        encode_picture: Callable[[Picture], str] | None = None,
        one_engine: bool = False,
        env_timeout: float = 10.0,
        check_render: bool = False,
    ) -> None:
        super().__init__(
            generator_cfg, skyrl_gym_cfg, inference_engine_client, codec.tokenizer, policy_model_name
        )
        self.codec = codec
        self.encode_picture = encode_picture
        self.one_engine = one_engine
        self.env_timeout = env_timeout
        self.check_render = check_render
        self.trajectories: list[Trajectory | None] = []
        self._threads = EnvThreads(skyrl_gym_cfg.max_env_workers)
        self._eos = codec.end_id
        self._finished: dict[Place, Trajectory] = {}
        self._keys: dict[str, set[str]] = defaultdict(set)
        self._faults: dict[Place, RolloutFault] = {}
        self._session_prefix = ""
        self._cached: set[str] = set()

    async def generate(self, input_batch: GeneratorInput, disable_tqdm: bool = True) -> GeneratorOutput:
        """Play all rollouts of a batch; see SkyRL's generator for input and output.

        Raises:
            GroupMismatchError: If a group's members played different mazes, or two groups the same one.
            RuntimeError: If every rollout was lost.
        """
        ids = input_batch["trajectory_ids"] or []
        phase = input_batch.get("batch_metadata")
        sampling = input_batch.get("sampling_params") or {}
        # A name that depends on the step and the sampling, not on what ran before, makes a resumed run
        # draw the same random numbers as an uninterrupted one.
        label = f"{phase.training_phase}-{phase.global_step}" if phase is not None else "generate"
        self._session_prefix = f"{label}-{sampling.get('temperature')}"
        self._finished, self._faults = {}, {}
        # Between two calls the engine may have slept and forgotten its pictures.
        self._cached = set()
        self._keys.clear()
        started = time.monotonic()
        output = await super().generate(input_batch, disable_tqdm=disable_tqdm)
        check_groups(self._keys, training=phase is None or phase.training_phase == "train")
        replace_lost(output, ids, self._faults)
        if (metrics := output["rollout_metrics"]) is not None:
            seconds = time.monotonic() - started
            metrics.update(batch_metrics(self._finished, len(self._faults), seconds))
        self.trajectories = [self._finished.get((i.instance_id, i.repetition_id)) for i in ids]
        return output

    async def agent_loop(
        self,
        prompt: Any,
        env_class: str,
        env_extras: dict[str, Any],
        max_tokens: int,
        max_input_length: int,
        sampling_params: dict[str, Any] | None = None,
        trajectory_id: TrajectoryID | None = None,
        cache_salt: str | None = None,
        training_phase: Any = "train",
    ) -> TrajectoryOutput:
        """Play one episode."""
        started = time.monotonic()
        name = trajectory_id or TrajectoryID(instance_id=str(id(env_extras)), repetition_id=0)
        session = f"{self._session_prefix}-{name.instance_id}-{name.repetition_id}"
        tokens = Conversation(self.codec)
        try:
            stop_reason, metrics = await self._episode(
                name,
                tokens,
                session,
                prompt,
                env_class,
                env_extras,
                sampling_params,
                max_input_length,
                cache_salt,
            )
        except Exception as error:
            # Whatever went wrong went wrong in this episode; if it does in all, the run ends and says so.
            fault = error if isinstance(error, RolloutFault) else _fault_of(error)
            logger.warning(f"rollout {session} is lost ({fault.reason}): {fault}")
            self._finished.pop((name.instance_id, name.repetition_id), None)
            self._faults[name.instance_id, name.repetition_id] = fault
            stop_reason, metrics, tokens = str(fault.reason), {"avg_lost": 1.0}, Conversation(self.codec)
        pixel_values, grids = tokens.tensors()
        return TrajectoryOutput(
            response_ids=tokens.response or [self._eos],
            reward=tokens.rewards or [0.0],
            stop_reason=stop_reason,
            loss_mask=tokens.loss_mask or [0],
            prompt_ids=tokens.prompt or [self._eos],
            rollout_logprobs=tokens.logprobs or [0.0],
            env_metrics=metrics,
            pixel_values=pixel_values,
            image_grid_thw=grids,
            e2e_time=time.monotonic() - started,
        )

    async def _episode(
        self,
        name: TrajectoryID,
        tokens: Conversation,
        session: str,
        prompt: Any,
        env_class: str,
        env_extras: dict[str, Any],
        sampling_params: dict[str, Any] | None,
        max_input_length: int,
        cache_salt: str | None,
    ) -> tuple[str, dict[str, Any]]:
        """One episode from making the environment to closing it; SkyRL's stop reason, and metrics."""
        env: Any = None
        try:
            env_extras["max_turns"] = self.max_turns
            env = await self._in_env(partial(skyrl_gym.make, env_class, env_config={}, extras=env_extras))
            self._keys[name.instance_id].add(env.layout_key)
            stop_reason = await self._play(
                env, prompt, tokens, session, sampling_params or {}, max_input_length, cache_salt
            )
            if self.check_render:
                await self._check_rendering(tokens)
            metrics = {**env.get_metrics(), "avg_lost": 0.0}
            info = {"tokens": sum(tokens.loss_mask), "context": len(tokens.ids)}
            self._finished[name.instance_id, name.repetition_id] = env.trajectory(
                group=env_extras.get("group"), rollout=name.repetition_id, **info
            )
            return stop_reason, metrics
        finally:
            if env is not None:
                await self._close(env, session)
            try:
                await self.inference_engine_client.finish_session(session)
            except Exception as error:
                logger.warning(f"ending the session {session} failed: {type(error).__name__}: {error}")

    async def _play(
        self,
        env: MazeTextEnv,
        prompt: Any,
        tokens: Conversation,
        session: str,
        sampling: dict[str, Any],
        max_input_length: int,
        cache_salt: str | None,
    ) -> str:
        """Turn by turn until the episode ends; returns SkyRL's stop reason."""
        messages, _ = await self._in_env(env.init, prompt)
        tokens.open(messages)
        known: set[str] = self._cached if self.one_engine else set()
        ask = partial(self._ask, tokens, session=session, sampling=sampling, cache_salt=cache_salt)
        while True:
            tokens.check_pictures()
            if len(tokens.ids) > max_input_length:
                if not tokens.response:
                    raise RolloutFault(
                        StopReason.CONTEXT_LIMIT,
                        f"the first prompt has {len(tokens.ids)} tokens, the limit is {max_input_length}",
                    )
                env.abort(StopReason.CONTEXT_LIMIT)
                return "length"
            text = await self._answer(tokens, known, ask)
            observations, reward, done = await self._step(env, text)
            tokens.rewards[-1] = reward
            if done:
                return "stop"
            if _characters(observations) > _LONGEST_TOKEN * max_input_length:
                env.abort(StopReason.CONTEXT_LIMIT)  # too long for sure, and slow to turn into tokens
                return "length"
            tokens.observe(observations)

    async def _answer(
        self, tokens: Conversation, known: set[str], ask: Callable[[set[str]], Awaitable[Any]]
    ) -> str:
        """Sample one answer and return its text; ``known`` are the pictures that the engine has."""
        try:
            output = await ask(known)
        except Exception as error:
            # The engine may have dropped a picture from its cache: send all of them once more.
            logger.warning(f"asking the engine again after {type(error).__name__}: {error}")
            known.difference_update(picture.key for picture in tokens.pictures)
            try:
                output = await ask(known)
            except Exception as second:
                detail = f"the engine refused a request: {type(second).__name__}: {str(second)[:200]}"
                raise RolloutFault(StopReason.ERROR, detail) from second
        known.update(picture.key for picture in tokens.pictures)
        ids = list(output["response_ids"][0])
        if not ids:
            raise RolloutFault(StopReason.ERROR, "the engine returned an empty answer")
        logprobs = list(output["response_logprobs"][0]) if output["response_logprobs"] else None
        if logprobs is not None and (len(logprobs) != len(ids) or not all(map(math.isfinite, logprobs))):
            detail = (
                f"the engine gave {len(logprobs)} log-probabilities, not all finite, of {len(ids)} tokens"
            )
            raise RolloutFault(StopReason.ERROR, detail)
        tokens.answer(ids, logprobs)
        return self.codec.text(ids)

    async def _ask(
        self,
        tokens: Conversation,
        known: set[str],
        *,
        session: str,
        sampling: dict[str, Any],
        cache_salt: str | None,
    ) -> Any:
        """One request to the engine."""
        features: Any = tokens.features(self.encode_picture, known)
        request = InferenceEngineInput(
            prompts=None,
            prompt_token_ids=[tokens.ids],
            sampling_params=sampling,
            session_ids=[session],
            mm_features=None if features is None else [features],
            cache_salt=cache_salt,
            routed_experts_prompt_starts=None,
            return_sample_support=None,
        )
        return await self.inference_engine_client.generate(request, model=self.policy_model_name)

    async def _check_rendering(self, tokens: Conversation) -> None:
        client: Any = self.inference_engine_client
        payload = {"json": {"model": client.model_name, "messages": tokens.messages}}
        tokens.check_rendering(list((await client.render_chat_completion(payload))["token_ids"]))

    async def _in_env(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call the environment; what it raises, or how long it hangs, is the rollout's loss alone."""
        try:
            return await self._threads.call(partial(function, *args), self.env_timeout)
        except TimeoutError as error:
            raise RolloutFault(StopReason.TIMEOUT, f"no answer within {self.env_timeout} s") from error
        except (Exception, SystemExit) as error:
            raise _fault_of(error) from error

    async def _step(self, env: MazeTextEnv, text: str) -> tuple[list[Message], float, bool]:
        result = await self._in_env(env.step, text)
        try:
            observations, reward, done = (
                list(result["observations"]),
                float(result["reward"]),
                bool(result["done"]),
            )
            if not math.isfinite(reward):
                raise ValueError(f"a reward of {reward}")
            return observations, reward, done
        except (TypeError, KeyError, ValueError) as error:
            raise RolloutFault(
                StopReason.ERROR, f"the environment's step returned no result ({error})"
            ) from error

    async def _close(self, env: MazeTextEnv, session: str) -> None:
        try:
            await self._in_env(env.close)
        except RolloutFault as fault:
            logger.warning(f"closing the environment of {session} failed: {fault}")


def _characters(messages: list[Message]) -> int:
    """Length of the texts; pictures do not count."""
    total = 0
    for message in messages:
        content = message["content"]
        parts = [content] if isinstance(content, str) else [part.get("text", "") for part in content]
        total += sum(map(len, parts))
    return total


def _fault_of(error: BaseException) -> RolloutFault:
    return RolloutFault(StopReason.ERROR, f"{type(error).__name__}: {str(error)[:200]}")
