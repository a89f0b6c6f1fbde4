"""Every way to play a maze behind one function: a seed and some actions in, what happened out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import gymnasium

from visgym_maze import Action, MazeDialogue, RewardSpec, Split, picture_urls, spell
from visgym_maze.adapters.chat_client import play
from visgym_maze.adapters.trl import MazeTools

# Each of these takes eight moves and the stop, so success comes with the very last turn.
OPTIONS: dict[str, Any] = {"max_turns": 9}
LEVELS = Split.make("train", size=7, n=6, max_moves=8)
REWARD = RewardSpec(progress=0.3, bump=-0.05)


class Played(NamedTuple):
    """What an adapter showed of an episode.

    Attributes:
        layout: Key of the maze.
        rewards: Of each turn; of the whole episode alone where the adapter's trainer takes one number.
        stop_reason: Why it ended, or None.
        pictures: How many came with the reset, and with each answer.
        refused: Whether one more step was refused.
    """

    layout: str
    rewards: list[float]
    stop_reason: str | None
    pictures: list[int]
    refused: bool


Driver = Callable[[int, Sequence[Action]], Played]


def refuses(step: Callable[[], Any]) -> bool:
    """Whether a call raises."""
    try:
        step()
    except Exception:
        return True
    return False


def dialogue(seed: int, actions: Sequence[Action]) -> Played:
    episode = MazeDialogue(LEVELS[seed], reward=REWARD, **OPTIONS)
    pictures = [len(picture_urls(episode.reset()))]
    rewards: list[float] = []
    for action in actions:
        result = episode.step(spell(action))
        rewards.append(result.reward)
        pictures.append(len(picture_urls(result.messages)))
    refused = refuses(lambda: episode.step(spell(Action.UP)))
    return Played(episode.layout.key, rewards, episode.stop_reason, pictures, refused)


def chat_client(seed: int, actions: Sequence[Action]) -> Played:
    """The loop over a client that has its answers ready; it stops asking once the episode is over."""
    answers = iter(actions)
    pictures: list[int] = []

    async def create(*, model: str, messages: list[dict[str, Any]]) -> Any:
        pictures.append(len(picture_urls(messages[-1:])))
        message = SimpleNamespace(content=spell(next(answers)))
        return SimpleNamespace(choices=[SimpleNamespace(message=message)])

    client = SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))
    played = asyncio.run(play(client, "model", MazeDialogue(LEVELS[seed], reward=REWARD, **OPTIONS)))
    ended = played.info.get("error") is None
    rewards = [turn.reward for turn in played.turns]
    return Played(played.layout.key, rewards, played.stop_reason, [*pictures, 0], ended)


def gymnasium_env(seed: int, actions: Sequence[Action]) -> Played:
    """Here a seed draws a maze; every observation is a picture, that of the last state too."""
    env = gymnasium.make("VisGymMaze/Maze2D-Easy-v0", size=7, levels=LEVELS, reward=REWARD, **OPTIONS)
    pictures = [env.reset(seed=seed)[0].ndim == 3]
    maze: Any = env.unwrapped
    rewards: list[float] = []
    reason = None
    for action in actions:
        picture, reward, terminated, truncated, info = env.step(action)
        rewards.append(float(reward))
        if terminated or truncated:
            reason = "goal" if info["success"] else "wrong_stop" if terminated else "turn_limit"
        pictures.append(picture.ndim == 3 and reason is None)
    refused = refuses(lambda: env.step(Action.UP))
    return Played(maze.layout.key, rewards, reason, [int(p) for p in pictures], refused)


def skyrl(seed: int, actions: Sequence[Action]) -> Played:
    from dataclasses import asdict

    from visgym_maze_skyrl.env import MazeTextEnv

    extras = {"layout": LEVELS[seed].to_dict(), "dialogue": OPTIONS, "reward": asdict(REWARD)}
    env = MazeTextEnv(extras=extras)
    pictures = [len(picture_urls(env.init([])[0]))]
    rewards: list[float] = []
    for action in actions:
        output = env.step(spell(action))
        rewards.append(output["reward"])
        pictures.append(len(picture_urls(output["observations"])))
    refused = refuses(lambda: env.step(spell(Action.UP)))
    return Played(env.layout_key, rewards, env.trajectory().stop_reason, pictures, refused)


def trl(seed: int, actions: Sequence[Action]) -> Played:
    env = MazeTools(LEVELS, reward=REWARD, **OPTIONS)

    def count(parts: list[dict[str, Any]]) -> int:
        return sum(part["type"] == "image" for part in parts)

    first = env.reset(seed=seed, prompt=[{"role": "user", "content": ""}])
    later = [env.stop() if action is Action.STOP else env.move(action.word) for action in actions]
    pictures = [count(parts) for parts in (first, *later)]
    played = env._trajectory()
    return Played(
        played.layout.key, [env.get_reward()], played.stop_reason, pictures, refuses(lambda: env.move("up"))
    )


def openenv(seed: int, actions: Sequence[Action]) -> Played:
    """The environment as its server runs it; tests/adapters/test_openenv.py goes through the wire."""
    from visgym_maze.adapters.openenv import MazeAction, MazeEnvironment

    env = MazeEnvironment(LEVELS, reward=REWARD, **OPTIONS)
    pictures = [len(picture_urls(env.reset(seed=seed).messages))]
    rewards: list[float] = []
    for action in actions:
        observation = env.step(MazeAction(text=spell(action)))
        rewards.append(float(observation.reward or 0.0))
        pictures.append(len(picture_urls(observation.messages)))
    refused = refuses(lambda: env.step(MazeAction(text=spell(Action.UP))))
    return Played(env.state.layout_key, rewards, env.state.stop_reason, pictures, refused)


def verifiers(seed: int, actions: Sequence[Action]) -> Played:
    """The environment with an agent that has its answers ready; the whole of verifiers runs in
    tests/adapters/test_verifiers.py. Its loop asks no further once the episode is over."""
    from contextlib import asynccontextmanager
    from dataclasses import asdict

    from visgym_maze_verifiers import MazeData, MazeEnv, MazeTask

    answers, pictures, recorded = iter(actions), [], {}

    async def turn(messages: list[dict[str, Any]]) -> Any:
        pictures.append(len(picture_urls(messages)))
        return SimpleNamespace(last_reply=spell(next(answers)), terminated=False)

    @asynccontextmanager
    async def interaction(task: MazeTask) -> Any:
        trace = SimpleNamespace(record_reward=recorded.__setitem__, record_metrics=recorded.update, info={})
        yield SimpleNamespace(turn=turn, trace=trace)
        recorded["trajectory"] = trace.info

    data = MazeData(layout=LEVELS[seed].to_dict(), options=OPTIONS, reward=asdict(REWARD))
    player = SimpleNamespace(interaction=interaction)
    asyncio.run(MazeEnv.run(MazeEnv, MazeTask(data), SimpleNamespace(player=player)))
    played = recorded["trajectory"]["trajectory"]
    return Played(
        played["layout"]["key"],
        [recorded["reward"]],
        played["stop_reason"],
        [*pictures, 0],
        not next(answers, 0),
    )


DRIVERS: dict[str, Driver] = {
    "dialogue": dialogue,
    "chat_client": chat_client,
    "gymnasium": gymnasium_env,
    "skyrl": skyrl,
    "trl": trl,
    "openenv": openenv,
    "verifiers": verifiers,
}
