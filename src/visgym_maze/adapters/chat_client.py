"""How does a model behind an OpenAI-compatible endpoint play? An async loop over its client."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from visgym_maze.dialogue.episode import MazeDialogue
from visgym_maze.dialogue.trajectory import StopReason, Trajectory
from visgym_maze.groups import Group


async def play(
    client: Any,
    model: str,
    dialogue: MazeDialogue,
    *,
    history: int | None = None,
    images: int | None = None,
    sampling: dict[str, Any] | None = None,
) -> Trajectory:
    """Play one episode from its beginning to its end.

    Args:
        client: An ``openai.AsyncOpenAI``, or anything with an async ``chat.completions.create``.
        model: The model's name at the endpoint.
        dialogue: The episode.
        history: Turns of history that the model gets; None for all.
        images: How many of the newest pictures it gets; None for all. Endpoints limit their number.
        sampling: Goes into every request, for example ``{"temperature": 0.7, "max_tokens": 512}``.

    Returns:
        The trajectory. If a request fails, which the client retries by itself, the episode ends there
        with the stop reason ``error`` and the message under ``info["error"]``.
    """
    request: dict[str, Any] = {"model": model, **(sampling or {})}
    failed: dict[str, Any] = {}
    dialogue.reset()
    while not dialogue.done:
        try:
            messages = dialogue.conversation(history, images)
            answer = await client.chat.completions.create(messages=messages, **request)
        except Exception as error:  # one lost episode must not end the others
            dialogue.abort(StopReason.ERROR)
            failed["error"] = f"{type(error).__name__}: {error}"
        else:
            dialogue.step(answer.choices[0].message.content or "")
    return dialogue.trajectory(**request, **failed)


async def play_groups(
    client: Any,
    model: str,
    groups: Iterable[Group],
    *,
    concurrency: int = 32,
    history: int | None = None,
    images: int | None = None,
    sampling: dict[str, Any] | None = None,
    **options: Any,
) -> list[Trajectory]:
    """Play all rollouts of some groups side by side.

    Args:
        client: As for :func:`play`.
        model: As for :func:`play`.
        groups: What to play; every member of a group plays the group's maze.
        concurrency: Most episodes at a time, at least 1.
        history: As for :func:`play`.
        images: As for :func:`play`.
        sampling: As for :func:`play`.
        options: How to play; as for :class:`~visgym_maze.dialogue.episode.MazeDialogue`.

    Returns:
        One trajectory per rollout, group by group.

    Raises:
        ValueError: If ``concurrency`` is below 1.
    """
    if concurrency < 1:
        raise ValueError(f"concurrency must be at least 1, got {concurrency}")
    gate = asyncio.Semaphore(concurrency)

    async def play_member(group: int, rollout: int, dialogue: MazeDialogue) -> Trajectory:
        async with gate:
            played = await play(client, model, dialogue, history=history, images=images, sampling=sampling)
        return replace(played, group=group, rollout=rollout)

    return await asyncio.gather(
        *(
            play_member(group.index, member, dialogue)
            for group in groups
            for member, dialogue in enumerate(group.dialogues(**options))
        )
    )
