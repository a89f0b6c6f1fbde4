"""How does SkyRL play groups of maze episodes? Token in, token out, one new picture per turn.

SkyRL's own vision-language generator renders the whole conversation again on every turn, cuts the
observation out by its expected offset, and sends every picture so far each time. Here the sampled tokens
are the history: only the new observation is encoded, in this process, and what was sampled is exactly what
is trained on.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest
from typing import Any

import skyrl_gym
import torch
from loguru import logger
from skyrl.backends.skyrl_train.inference_servers.base import InferenceEngineInput
from skyrl.train.generators.base import GeneratorInput, GeneratorOutput, TrajectoryID
from skyrl.train.generators.skyrl_gym_generator import TrajectoryOutput
from skyrl.train.generators.skyrl_vlm_generator import SkyRLVLMGymGenerator

from visgym_maze.dialogue.episode import Message
from visgym_maze.dialogue.trajectory import StopReason, Trajectory
from visgym_maze_skyrl.env import MazeTextEnv
from visgym_maze_skyrl.local.chat import ChatCodec
from visgym_maze_skyrl.local.pictures import Picture

STANDIN = "!"
"""Stands for every answer where a history is compared with a full rendering."""

_TOKEN_COLUMNS = ("prompt_token_ids", "response_ids", "rollout_logprobs", "pixel_values", "image_grid_thw")


class GroupMismatchError(RuntimeError):
    """The rollouts of a group did not all play the same maze, or two groups played one."""


class RolloutFault(Exception):  # noqa: N818 - a fault of one rollout, never seen by the caller
    """Something that costs one rollout and nothing else."""

    def __init__(self, reason: StopReason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


@dataclass
class _Tokens:
    """One conversation as the trainer will see it."""

    prompt: list[int] = field(default_factory=list)
    response: list[int] = field(default_factory=list)
    loss_mask: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    places: list[dict[str, int]] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    cached: set[str] = field(default_factory=set)

    @property
    def ids(self) -> list[int]:
        return self.prompt + self.response

    def add(self, ids: list[int], *, trained: bool, logprobs: list[float] | None = None) -> None:
        """Append response tokens; only sampled ones are trained."""
        self.response += ids
        self.loss_mask += [int(trained)] * len(ids)
        self.logprobs += logprobs if logprobs is not None else [0.0] * len(ids)
        self.rewards += [0.0] * len(ids)


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
        self._image_id = codec.image_id
        self._eos = codec.end_id
        self._finished: dict[tuple[str, int], Trajectory] = {}
        self._keys: dict[str, set[str]] = defaultdict(set)
        self._faults: dict[tuple[str, int], RolloutFault] = {}
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
        self._check_groups(training=phase is None or phase.training_phase == "train")
        self._replace_lost(output, ids)
        self._add_metrics(output, time.monotonic() - started)
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
        tokens = _Tokens()
        env: Any = None
        stop_reason, metrics = "stop", {}
        try:
            env_extras["max_turns"] = self.max_turns
            env = await self._in_env(partial(skyrl_gym.make, env_class, env_config={}, extras=env_extras))
            self._keys[name.instance_id].add(env.layout_key)
            stop_reason = await self._play(
                env, prompt, tokens, session, sampling_params or {}, max_input_length, cache_salt
            )
            if self.check_render:
                await self._compare_with_render(tokens)
            metrics = {**env.get_metrics(), "avg_lost": 0.0}
            info = {"tokens": sum(tokens.loss_mask), "context": len(tokens.ids)}
            self._finished[name.instance_id, name.repetition_id] = env.trajectory(
                group=env_extras.get("group"), rollout=name.repetition_id, **info
            )
        except RolloutFault as fault:
            logger.warning(f"rollout {session} is lost ({fault.reason}): {fault}")
            self._faults[name.instance_id, name.repetition_id] = fault
            stop_reason, metrics = str(fault.reason), {"avg_lost": 1.0}
        finally:
            if env is not None:
                await self._close(env, session)
            await self.inference_engine_client.finish_session(session)
        pixel_values, grids = self._tensors(tokens)
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

    async def _play(
        self,
        env: MazeTextEnv,
        prompt: Any,
        tokens: _Tokens,
        session: str,
        sampling: dict[str, Any],
        max_input_length: int,
        cache_salt: str | None,
    ) -> str:
        """Turn by turn until the episode ends; returns SkyRL's stop reason."""
        messages, _ = await self._in_env(env.init, prompt)
        tokens.prompt, pictures = self.codec.first(messages)
        tokens.messages += messages
        self._place(tokens, pictures, 0)
        while True:
            self._check_pictures(tokens)
            if len(tokens.ids) > max_input_length:
                if not tokens.response:
                    raise RolloutFault(
                        StopReason.CONTEXT_LIMIT,
                        f"the first prompt has {len(tokens.ids)} tokens, the limit is {max_input_length}",
                    )
                env.abort(StopReason.CONTEXT_LIMIT)
                return "length"
            text, ended = await self._answer(tokens, session, sampling, cache_salt)
            observations, reward, done = await self._step(env, text)
            tokens.rewards[-1] = reward
            if done:
                return "stop"
            if not ended:
                # Close an answer that ran into its token limit, as the chat template would.
                tokens.add([self._eos], trained=False)
            ids, pictures = self.codec.later(observations)
            offset = len(tokens.ids)
            tokens.add(ids, trained=False)
            tokens.messages += [{"role": "assistant", "content": STANDIN}, *observations]
            self._place(tokens, pictures, offset)

    async def _answer(
        self, tokens: _Tokens, session: str, sampling: dict[str, Any], cache_salt: str | None
    ) -> tuple[str, bool]:
        """Sample one answer; returns its text and whether the model ended it."""
        try:
            output = await self._ask(tokens, session, sampling, cache_salt)
        except Exception as error:
            # The engine may have dropped a picture from its cache: send all of them once more.
            logger.warning(f"{session}: asking the engine again after {type(error).__name__}: {error}")
            self._known(tokens).difference_update(picture.key for picture in tokens.pictures)
            try:
                output = await self._ask(tokens, session, sampling, cache_salt)
            except Exception as second:
                detail = f"the engine refused a request: {type(second).__name__}: {str(second)[:200]}"
                raise RolloutFault(StopReason.ERROR, detail) from second
        ids = list(output["response_ids"][0])
        if not ids:
            raise RolloutFault(StopReason.ERROR, "the engine returned an empty answer")
        logprobs = output["response_logprobs"]
        tokens.add(ids, trained=True, logprobs=list(logprobs[0]) if logprobs else None)
        return self.tokenizer.decode(ids, skip_special_tokens=True), ids[-1] == self._eos

    async def _ask(
        self, tokens: _Tokens, session: str, sampling: dict[str, Any], cache_salt: str | None
    ) -> Any:
        """One request to the engine; what it has answered for, it has seen."""
        features = self._features(tokens)
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
        output = await self.inference_engine_client.generate(request, model=self.policy_model_name)
        self._known(tokens).update(picture.key for picture in tokens.pictures)
        return output

    def _known(self, tokens: _Tokens) -> set[str]:
        """Keys of the pictures that the engine of this conversation has."""
        return self._cached if self.one_engine else tokens.cached

    def _place(self, tokens: _Tokens, pictures: list[Picture], offset: int) -> None:
        """Note new pictures, and where their image tokens stand from ``offset`` on."""
        ids = tokens.ids
        for picture in pictures:
            length = self.codec.reader.tokens(picture)
            offset = ids.index(self._image_id, offset)
            tokens.pictures.append(picture)
            tokens.places.append({"offset": offset, "length": length})
            offset += length

    def _features(self, tokens: _Tokens) -> Any:
        """The pictures of a request, in the form that SkyRL's inference clients take."""
        if not tokens.pictures:
            return None
        if self.encode_picture is None:
            data: list[Any] = list(tokens.pictures)
        else:
            known = self._known(tokens)
            data = [None if p.key in known else self.encode_picture(p) for p in tokens.pictures]
        return {
            "mm_hashes": {"image": [picture.key for picture in tokens.pictures]},
            "mm_placeholders": {"image": list(tokens.places)},
            "kwargs_data": {"image": data},
        }

    async def _compare_with_render(self, tokens: _Tokens) -> None:
        """What was not sampled must be what the engine's own rendering puts around the answers.

        Answers are replaced by one fixed text on both sides: a sampled answer need not be how the
        tokenizer would have cut its text.
        """
        client: Any = self.inference_engine_client
        payload = {"json": {"model": client.model_name, "messages": tokens.messages}}
        rendered = list((await client.render_chat_completion(payload))["token_ids"])
        ours, answer = list(tokens.prompt), self.codec.answer(STANDIN)
        past = False
        for token, trained in zip(tokens.response, tokens.loss_mask, strict=True):
            if not trained:
                ours.append(token)
            elif not past:
                ours += answer[:-1]
            if trained and token == self._eos:
                ours.append(token)
            past = bool(trained)
        # The last answer, if it ended the episode, has no place in the messages.
        ours = ours[: len(rendered)]
        if ours != rendered:
            at = next(i for i, pair in enumerate(zip_longest(ours, rendered)) if pair[0] != pair[1])
            raise RolloutFault(
                StopReason.ERROR,
                f"the history differs from the full rendering at token {at} of {len(rendered)}",
            )

    def _check_pictures(self, tokens: _Tokens) -> None:
        """Every image token of the history must belong to a picture, and the other way round."""
        shown, expected = tokens.ids.count(self._image_id), sum(place["length"] for place in tokens.places)
        if shown != expected:
            raise RolloutFault(
                StopReason.ERROR, f"{shown} image tokens in the history, its pictures need {expected}"
            )

    @staticmethod
    def _tensors(tokens: _Tokens) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        """Pixel values ``[patches, dim]`` and grids ``[pictures, 3]`` of a conversation."""
        if not tokens.pictures:
            return None, None
        pixel_values = torch.cat([picture.pixel_values for picture in tokens.pictures])
        return pixel_values, torch.cat([picture.grid_thw for picture in tokens.pictures])

    async def _in_env(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call the environment; what it raises, or how long it hangs, is the rollout's loss alone."""
        call = self._run_in_executor_if_available(function, *args)
        try:
            return await asyncio.wait_for(call, self.env_timeout)
        except TimeoutError as error:
            raise RolloutFault(StopReason.TIMEOUT, f"no answer within {self.env_timeout} s") from error
        except Exception as error:
            raise RolloutFault(StopReason.ERROR, f"{type(error).__name__}: {str(error)[:200]}") from error

    async def _step(self, env: MazeTextEnv, text: str) -> tuple[list[Message], float, bool]:
        result = await self._in_env(env.step, text)
        try:
            return list(result["observations"]), float(result["reward"]), bool(result["done"])
        except (TypeError, KeyError, ValueError) as error:
            raise RolloutFault(
                StopReason.ERROR, f"the environment's step returned no result ({error})"
            ) from error

    async def _close(self, env: MazeTextEnv, session: str) -> None:
        try:
            await self._in_env(env.close)
        except RolloutFault as fault:
            logger.warning(f"closing the environment of {session} failed: {fault}")

    def _check_groups(self, *, training: bool) -> None:
        """All members of a group share one maze; in training no two groups of a step do."""
        mixed = {group: keys for group, keys in self._keys.items() if len(keys) > 1}
        if mixed:
            raise GroupMismatchError(f"rollouts of one group played different mazes: {mixed}")
        if training:
            keys = [key for group in self._keys.values() for key in group]
            if len(set(keys)) != len(keys):
                raise GroupMismatchError(f"two groups of one step played the same maze: {sorted(keys)}")

    def _replace_lost(self, output: GeneratorOutput, ids: list[TrajectoryID]) -> None:
        """Give each lost rollout a healthy sibling's tokens without loss, and its group's mean reward.

        Shapes then fit, no gradient comes from it, and the baseline of its group stays what the healthy
        members make it.
        """
        lost = {i for i, t in enumerate(ids) if (t.instance_id, t.repetition_id) in self._faults}
        if not lost:
            return
        healthy = [i for i in range(len(ids)) if i not in lost]
        if not healthy:
            reasons = sorted({str(fault) for fault in self._faults.values()})
            raise RuntimeError(f"all {len(ids)} rollouts were lost: {'; '.join(reasons[:3])}")
        rewards: Any = output["rewards"]
        for i in lost:
            group = [j for j in healthy if ids[j].instance_id == ids[i].instance_id]
            donor = (group or healthy)[0]
            mean = sum(sum(rewards[j]) for j in group) / len(group) if group else 0.0
            for key in _TOKEN_COLUMNS:
                column: Any = output.get(key)
                if column is not None:
                    column[i] = column[donor]
            length = len(output["response_ids"][i])
            output["loss_masks"][i] = [0] * length
            rewards[i] = [0.0] * (length - 1) + [mean]

    def _add_metrics(self, output: GeneratorOutput, seconds: float) -> None:
        metrics = output["rollout_metrics"]
        if metrics is None:
            return
        turns = sum(len(t.turns) for t in self._finished.values())
        sampled = sum(t.info["tokens"] for t in self._finished.values())
        groups: dict[str, list[float]] = defaultdict(list)
        for (group, _), trajectory in self._finished.items():
            groups[group].append(trajectory.total_reward)
        metrics["rollouts/turns_per_second"] = turns / seconds
        metrics["rollouts/tokens_per_second"] = sampled / seconds
        metrics["rollouts/lost"] = float(len(self._faults))
        metrics["rollouts/zero_variance_groups"] = float(
            sum(max(rewards) - min(rewards) < 1e-9 for rewards in groups.values())
        )
