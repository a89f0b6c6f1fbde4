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
}
"""Keyword arguments of every registered id."""


def register_all() -> None:
    """Register every configuration once; calling it again changes nothing."""
    for name, kwargs in CONFIGURATIONS.items():
        if name not in gymnasium.registry:
            gymnasium.register(
                name,
                entry_point="visgym_maze.envs.maze:MazeEnv",
                vector_entry_point="visgym_maze.envs.vector:MazeVectorEnv",
                kwargs=kwargs,
            )
