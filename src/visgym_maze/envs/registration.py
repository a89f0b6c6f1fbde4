"""Under which names does Gymnasium know the environments?"""

from __future__ import annotations

from typing import Any

import gymnasium

CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "VisGymMaze/Maze2D-Easy-v0": {"size": 9, "max_turns": 15},
    "VisGymMaze/Maze2D-Hard-v0": {"size": 11, "max_turns": 25},
    "VisGymMaze/Maze2D-Easy-VisGym-v0": {
        "size": 9,
        "max_turns": 15,
        "generator": "wilson-visgym",
        "solvable": False,
    },
    "VisGymMaze/Maze2D-Hard-VisGym-v0": {
        "size": 11,
        "max_turns": 15,
        "generator": "wilson-visgym",
        "solvable": False,
    },
    "VisGymMaze/Maze3D-Easy-v0": {"size": 9, "max_turns": 50},
    "VisGymMaze/Maze3D-Hard-v0": {"size": 11, "max_turns": 75},
}
"""Keyword arguments of every registered id."""

_SEEN_FROM_ABOVE = "visgym_maze.envs.maze:MazeEnv", "visgym_maze.envs.vector:MazeVectorEnv"
_SEEN_FROM_INSIDE = "visgym_maze.envs.first_person:FirstPersonMazeEnv", None


def register_all() -> None:
    """Register every configuration once; calling it again changes nothing."""
    for name, kwargs in CONFIGURATIONS.items():
        if name not in gymnasium.registry:
            entry, vector_entry = _SEEN_FROM_INSIDE if "Maze3D" in name else _SEEN_FROM_ABOVE
            gymnasium.register(name, kwargs=kwargs, entry_point=entry, vector_entry_point=vector_entry)
