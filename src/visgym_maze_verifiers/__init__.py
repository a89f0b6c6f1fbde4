"""How does Prime Intellect's verifiers play a maze? A taskset and its environment, for ``verifiers.v1``.

A package of its own, because verifiers finds a taskset by the name of a top-level package::

    vf-eval visgym-maze-verifiers --no-push -m MODEL --client.base-url http://127.0.0.1:8000/v1
"""

# verifiers is in an extra of its own, so a type checker may not find it.
# pyright: reportMissingImports=false, reportUntypedBaseClass=false, reportUnknownParameterType=false
# pyright: reportCallIssue=false

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, Literal

import openai
import verifiers.v1 as vf
from pydantic import Field
from verifiers.v1.dialects.chat import message_to_wire

from visgym_maze import Layout, MazeDialogue, RewardSpec, Split, StopReason
from visgym_maze.dialogue.prompts import prompt_named

__all__ = ["ChatHarness", "MazeEnv", "MazeTaskset"]


class MazeTasksetConfig(vf.TasksetConfig):
    """Which mazes are played, and how; as for ``Split.make``, ``MazeDialogue`` and ``RewardSpec``."""

    split: Literal["train", "dev", "eval"] = "eval"
    size: int = 9
    n: int = 64
    seed: int = 0
    max_moves: int | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    reward: dict[str, Any] = Field(default_factory=dict)


class MazeData(vf.TaskData):
    """A maze and how it is played, ready for JSON; the environment opens the conversation."""

    layout: dict[str, Any]
    options: dict[str, Any]
    reward: dict[str, Any]


class MazeTask(vf.Task[MazeData]):
    """One maze."""

    @property
    def key(self) -> str:
        """The layout's key, so that a task stays the same wherever it stands in the split."""
        return str(self.data.layout["key"])


class MazeTaskset(vf.Taskset[MazeTask, MazeTasksetConfig]):
    """The mazes of a split, in its order."""

    def load(self) -> Iterator[MazeTask]:
        """One task per maze."""
        config = self.config
        system = prompt_named(config.options.get("prompt", "standard")).system
        reward = asdict(RewardSpec(**config.reward))
        for layout in Split.make(config.split, config.size, config.n, config.seed, config.max_moves):
            data = MazeData(
                name=layout.key[:8],
                system_prompt=system or None,
                layout=layout.to_dict(),
                options=config.options,
                reward=reward,
            )
            yield MazeTask(data, config.task)


class ChatHarness(vf.Harness[vf.HarnessConfig]):
    """Asks the model once per turn, in verifiers' own process.

    The chat loop that verifiers ships starts a Python interpreter for every turn.
    """

    APPENDS_SYSTEM_PROMPT = True
    SUPPORTS_RESUME = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: vf.ModelContext,
        trace: vf.Trace,
        runtime: vf.Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: vf.TaskData,
    ) -> vf.ProgramResult:
        """One answer to the conversation so far; verifiers reads it off the endpoint."""
        system, prompt = self.resolve_prompt(data)
        messages: Any = [{"role": "system", "content": system}] if system else []
        conversation: Any = prompt  # always messages: MazeEnv sends nothing else
        messages += [message_to_wire(message) for message in conversation]
        async with openai.AsyncOpenAI(base_url=endpoint, api_key=secret) as client:
            try:
                await client.chat.completions.create(model=ctx.model, messages=messages)
            except openai.OpenAIError as error:
                return vf.ProgramResult(1, "", str(error))
        return vf.ProgramResult(0, "", "")


class MazeEnvConfig(vf.EnvConfig):
    """The one seat, on this machine."""

    player: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())


class MazeEnv(vf.Env[MazeEnvConfig]):
    """The maze is the user: it shows a picture after every answer."""

    async def run(self, task: vf.Task[Any], agents: Any) -> None:
        """One episode; the trajectory goes into the trace's ``info``.

        If verifiers ends it, as when the endpoint fails, its stop reason is ``error``, and the
        trajectory's own ``info["error"]`` says why: a report names it apart.
        """
        data = task.data
        dialogue = MazeDialogue(
            Layout.from_dict(data.layout), reward=RewardSpec(**data.reward), **data.options
        )
        messages = [message for message in dialogue.reset() if message["role"] == "user"]
        async with agents.player.interaction(task) as interaction:
            segment = await interaction.turn(messages)
            while not segment.terminated:
                result = dialogue.step(segment.last_reply)
                if result.done:
                    break
                segment = await interaction.turn(result.messages)
        trace = interaction.trace
        lost: dict[str, Any] = {}
        if not dialogue.done:
            dialogue.abort(StopReason.ERROR)
            last = trace.last_error
            lost["error"] = f"{last.type}: {last.message}" if last else f"{trace.stop_condition}: ended early"
        episode = dialogue.trajectory(**lost)
        trace.record_reward("reward", episode.total_reward)
        trace.record_metrics({"success": episode.success, "turns": len(episode.turns)})
        trace.info["trajectory"] = episode.to_dict()
