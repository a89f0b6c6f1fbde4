"""How does SkyRL play a maze? Its text-environment interface over a :class:`MazeDialogue`."""

from __future__ import annotations

from typing import Any

from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput
from skyrl_gym.envs.registration import register as register_env
from skyrl_gym.envs.registration import registry

from visgym_maze.dialogue.episode import MazeDialogue, Message
from visgym_maze.dialogue.trajectory import StopReason, Trajectory
from visgym_maze.rewards import RewardSpec
from visgym_maze.world.layout import Layout
from visgym_maze.world.solver import solve

ENV_ID = "visgym_maze"


class MazeTextEnv(BaseTextEnv):
    """One episode of one maze.

    Args:
        env_config: Not used; everything that matters travels with the row.
        extras: Columns of a row of :class:`visgym_maze_skyrl.dataset.MazeDataset`: ``layout``,
            ``dialogue`` and ``reward``.
    """

    def __init__(self, env_config: Any = None, extras: dict[str, Any] | None = None) -> None:
        super().__init__()
        row = extras or {}
        reward = RewardSpec(**row["reward"])
        self.dialogue = MazeDialogue(Layout.from_dict(row["layout"]), reward=reward, **row["dialogue"])
        self.max_turns = self.dialogue.max_turns
        self.layout_key = self.dialogue.layout.key

    def init(self, prompt: list[Message]) -> tuple[list[Message], dict[str, Any]]:
        """The first messages. The row's own prompt is the same text without the picture."""
        return self.dialogue.reset(), {"layout_key": self.layout_key}

    def step(self, action: str) -> BaseTextEnvStepOutput:
        """Play one answer."""
        result = self.dialogue.step(action)
        self.turns = len(self.dialogue.turns)
        return BaseTextEnvStepOutput(
            observations=result.messages,
            reward=result.reward,
            done=result.done,
            metadata={"terminated": result.terminated, "truncated": result.truncated},
            postprocessed_action=None,
        )

    def abort(self, reason: StopReason) -> None:
        """End the episode from outside."""
        self.dialogue.abort(reason)

    def trajectory(self, **info: Any) -> Trajectory:
        """The record of the episode so far."""
        return self.dialogue.trajectory(**info)

    def get_metrics(self) -> dict[str, Any]:
        """Numbers of this episode; SkyRL averages them and logs them as ``environment/...``."""
        episode = self.dialogue.trajectory()
        return {
            "avg_success": float(episode.success),
            "avg_turns": float(len(episode.turns)),
            "avg_reward": episode.total_reward,
            "avg_bumps": float(sum(turn.bumped for turn in episode.turns)),
            "avg_parse_failures": float(sum(turn.failure is not None for turn in episode.turns)),
            "avg_distance_left": float(solve(episode.layout).distance(self.dialogue.cell)),
            **{f"avg_stop_{reason}": float(episode.stop_reason is reason) for reason in StopReason},
        }


def register() -> None:
    """Make the environment known to SkyRL in this process; calling it again changes nothing.

    SkyRL's registry is per process, so this belongs into the entrypoint that runs on the cluster.
    """
    if ENV_ID not in registry:
        register_env(id=ENV_ID, entry_point="visgym_maze_skyrl.env:MazeTextEnv")
