"""How do episodes become one HTML file? A page that carries them, and needs no network and no server.

What a model wrote is hostile until shown otherwise. The episodes travel as gzip in base64, an alphabet in
which no markup can be spelled; the script makes text nodes of them and nothing else; and the page's own
policy lets no other script run, loads nothing, and refuses to turn strings into markup.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from visgym_maze.dialogue.trajectory import Trajectory, Turn
from visgym_maze.replay.grouping import advantages, group_of
from visgym_maze.world.solver import solve


def replay_page(sources: Mapping[str, Sequence[Trajectory]], title: str = "Maze replay") -> str:
    """A self-contained HTML page that plays episodes turn by turn.

    Args:
        sources: Episodes by the name of where they come from, which the page can filter by.
        title: What the page is called.

    Returns:
        The page's text; the same episodes give the same text.

    Raises:
        ValueError: If there are no episodes.
    """
    if not any(sources.values()):
        raise ValueError("a replay needs at least one episode")
    style, script = _asset("page.css"), _asset("page.js")
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; "
        f"trusted-types 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'"
    )
    parts = {"POLICY": policy, "STYLE": style, "SCRIPT": script, "DATA": _packed(_content(sources, title))}
    page = _asset("page.html")
    for name, text in parts.items():
        page = page.replace(f"%{name}%", text)
    return page


def _asset(name: str) -> str:
    return resources.files("visgym_maze.replay").joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _packed(content: dict[str, Any]) -> str:
    # No time stamp, so that a page depends on its episodes alone.
    data = json.dumps(content, allow_nan=False, separators=(",", ":")).encode()
    return base64.b64encode(gzip.compress(data, mtime=0)).decode()


def _content(sources: Mapping[str, Sequence[Trajectory]], title: str) -> dict[str, Any]:
    """What the script gets to see; every maze once."""
    mazes: dict[str, dict[str, Any]] = {}
    numbers: dict[str, int] = {}
    episodes: list[dict[str, Any]] = []
    for source, trajectories in enumerate(sources.values()):
        for trajectory, advantage in zip(trajectories, advantages(trajectories), strict=True):
            layout = trajectory.layout
            if layout.key not in mazes:
                numbers[layout.key] = len(mazes)
                mazes[layout.key] = {**layout.to_dict(), "shortest": solve(layout).moves}
            episodes.append(
                {
                    "source": source,
                    "maze": numbers[layout.key],
                    "together": f"{source}/{group_of(trajectory)}",
                    "group": trajectory.group,
                    "rollout": trajectory.rollout,
                    "outcome": trajectory.stop_reason,
                    "maxTurns": trajectory.max_turns,
                    "reward": trajectory.total_reward,
                    "advantage": advantage,
                    "info": {key: _as_text(value) for key, value in trajectory.info.items()},
                    "turns": [_turn(turn) for turn in trajectory.turns],
                }
            )
    return {"title": title, "sources": list(sources), "mazes": list(mazes.values()), "episodes": episodes}


def _turn(turn: Turn) -> dict[str, Any]:
    return {**turn._asdict(), "path": [*turn.path]}


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)
