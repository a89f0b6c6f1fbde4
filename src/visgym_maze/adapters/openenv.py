"""How is a maze served to OpenEnv clients, and how do they play it?"""

# OpenEnv is in an extra of its own, so a type checker may not find it.
# pyright: reportMissingImports=false, reportUntypedBaseClass=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from functools import partial
from typing import Any
from uuid import uuid4

from openenv.core import EnvClient
from openenv.core.client_types import StepResult
from openenv.core.env_server import Action, Environment, Observation, State, create_fastapi_app
from starlette.exceptions import HTTPException

from visgym_maze.adapters.numbering import numbered
from visgym_maze.dialogue.episode import MazeDialogue, Message
from visgym_maze.dialogue.parsing import MAX_LENGTH
from visgym_maze.world.layout import Layout

MAX_REQUEST = 4 * MAX_LENGTH
"""Bytes of a request, about a megabyte: more than the longest answer that is read."""

_Message = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[_Message]]


class MazeAction(Action):
    """An answer, as the policy gave it."""

    text: str


class MazeObservation(Observation):
    """The messages that follow, in OpenAI's form, and why the episode ended, if it did."""

    messages: list[Message]
    stop_reason: str | None = None


class MazeState(State):
    """Which maze is played, and how it ended, if it did."""

    layout_key: str = ""
    stop_reason: str | None = None


class MazeEnvironment(Environment):
    """One session on the server.

    Args:
        levels: The mazes; the seed of a reset is a number in this sequence.
        options: How to play; as for :class:`~visgym_maze.dialogue.episode.MazeDialogue`.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, levels: Sequence[Layout], **options: Any) -> None:
        super().__init__()
        self._levels = levels
        self._options = options
        self._dialogue: MazeDialogue | None = None
        self._episode = ""

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, **options: Any
    ) -> MazeObservation:
        """Start the maze with the number ``seed``.

        Raises:
            ValueError: If there is no seed, or no such maze.
        """
        if seed is None:
            raise ValueError(f"reset needs a seed from 0 to {len(self._levels) - 1}: the maze's number")
        self._dialogue = MazeDialogue(numbered(self._levels, seed), **self._options)
        self._episode = episode_id or uuid4().hex
        return MazeObservation(messages=self._dialogue.reset())

    def step(self, action: MazeAction, timeout_s: float | None = None, **options: Any) -> MazeObservation:
        """Play one answer.

        Raises:
            RuntimeError: If the episode has not begun or is over.
        """
        if self._dialogue is None:
            raise RuntimeError("call reset() before the first step()")
        result = self._dialogue.step(action.text)
        return MazeObservation(
            messages=result.messages,
            stop_reason=self._dialogue.stop_reason,
            reward=result.reward,
            done=result.done,
        )

    @property
    def state(self) -> MazeState:
        """The session's state."""
        if self._dialogue is None:
            return MazeState()
        return MazeState(
            episode_id=self._episode,
            step_count=len(self._dialogue.turns),
            layout_key=self._dialogue.layout.key,
            stop_reason=self._dialogue.stop_reason,
        )


class RequestLimit:
    """Refuses requests and WebSocket messages above a size, as an ASGI application around another.

    Args:
        app: The other.
        max_bytes: Of a request's body, or of one message.
    """

    def __init__(self, app: Any, max_bytes: int) -> None:
        self._app = app
        self._max_bytes = max_bytes

    async def __call__(self, scope: _Message, receive: _Receive, send: Any) -> None:
        """Pass on what is small enough."""
        received = 0

        async def receive_limited() -> _Message:
            nonlocal received
            message = await receive()
            if scope["type"] == "websocket":
                received = 0  # each message stands for itself
            received += len(
                message.get("body") or message.get("bytes") or (message.get("text") or "").encode()
            )
            if received > self._max_bytes:
                raise HTTPException(413, f"a request may hold {self._max_bytes} bytes")
            return message

        await self._app(scope, receive_limited, send)


def make_app(levels: Sequence[Layout], *, sessions: int = 64, **options: Any) -> Any:
    """The server as a FastAPI application, for uvicorn.

    Args:
        levels: The mazes.
        sessions: Most sessions at a time; another one is refused.
        options: How to play; as for :class:`~visgym_maze.dialogue.episode.MazeDialogue`.
    """
    factory = partial(MazeEnvironment, levels, **options)
    app = create_fastapi_app(factory, MazeAction, MazeObservation, max_concurrent_envs=sessions)
    app.add_middleware(RequestLimit, max_bytes=MAX_REQUEST)
    return app


class MazeClient(EnvClient[MazeAction, MazeObservation, MazeState]):
    """One session from the client's side; see OpenEnv's ``EnvClient``."""

    def _step_payload(self, action: MazeAction) -> dict[str, Any]:
        return action.model_dump()

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[MazeObservation]:
        reward, done = payload.get("reward"), payload.get("done", False)
        observation = MazeObservation(**payload["observation"], reward=reward, done=done)
        return StepResult(observation=observation, reward=reward, done=done)

    def _parse_state(self, payload: dict[str, Any]) -> MazeState:
        return MazeState(**payload)
