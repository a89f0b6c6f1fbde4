"""How does a maze look from inside, as a Gymnasium environment?"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, ClassVar

import gymnasium
import numpy as np
from numpy.typing import NDArray

from visgym_maze.envs.maze import MazeEnv
from visgym_maze.view.first_person import check_picture, render_first_person
from visgym_maze.view.text import ascii_view
from visgym_maze.view.view import first_heading
from visgym_maze.world.generation import Size, generate
from visgym_maze.world.heading import HeadedAction, headed_distances, headed_transition
from visgym_maze.world.layout import Layout

_MAX_TRIES = 10_000


class FirstPersonMazeEnv(MazeEnv):
    """A maze seen by an agent that stands in it and looks ahead.

    Description:
        The agent has to find the cell with coloured floor and ceiling and stop there. It begins with a
        look along the first free way of right, up, left, down.
    Action Space:
        ``Discrete(4)``: 0 turn left, 1 turn right (a quarter each), 2 forward, 3 stop. Walking into a wall
        moves nothing.
    Observation Space:
        ``Box(0, 255, (height, width, 3), uint8)``: the RGB picture. A new array every time.
    Rewards:
        As for :class:`MazeEnv`; distances and path lengths count turns as well as steps.
    Episode End:
        As for :class:`MazeEnv`.
    Registered Configurations:
        - ``VisGymMaze/Maze3D-Easy-v0``: 9x9, 50 turns.
        - ``VisGymMaze/Maze3D-Hard-v0``: 11x11, 75 turns.

        With sight of the whole maze half of them take 16 and 22 actions; the rest of the cap is
        there to look round corners.

    Args:
        size: Side or ``(height, width)`` in cells, odd, at least 5.
        picture: ``(height, width)`` of the picture in pixels.
        fov: Horizontal field of view in degrees, above 0 and below 180.
        max_turns: Turn cap.
        rules: Everything else, as for :class:`MazeEnv`, but there is no ``observe``.
    """

    actions: ClassVar[type[IntEnum]] = HeadedAction

    def __init__(
        self,
        size: Size = 9,
        *,
        picture: tuple[int, int] = (224, 224),
        fov: float = 90.0,
        max_turns: int = 50,
        **rules: Any,
    ) -> None:
        if "observe" in rules:
            raise ValueError("a first-person environment always shows its picture; it takes no observe")
        super().__init__(size, max_turns=max_turns, **rules)
        self.picture = (int(picture[0]), int(picture[1]))
        self.fov = fov
        check_picture(*self.picture, fov)
        self.observation_space = gymnasium.spaces.Box(0, 255, (*self.picture, 3), np.uint8)

    def draw(self, rng: np.random.Generator) -> Layout:
        """The maze that a reset plays when it draws from ``rng``.

        Raises:
            ValueError: If no maze can be solved within the turn cap.
        """
        if self.levels is not None:
            return super().draw(rng)
        for _ in range(_MAX_TRIES):
            layout = generate(self.size, self.generator, rng, endpoints=self.endpoints)
            if not self.solvable or self._fits(layout):
                return layout
        raise ValueError(
            f"none of {_MAX_TRIES} mazes of {self.size} can be solved within {self.max_turns} turns; allow "
            "more turns, take a smaller maze, or pass solvable=False"
        )

    def render(self) -> Any:
        """The picture (``"rgb_array"``), the maze from above with the heading (``"ansi"``), or None."""
        if self.layout is None:
            raise RuntimeError("call reset() before render()")
        if self.render_mode == "rgb_array":
            return self._observation(self.layout)
        if self.render_mode == "ansi":
            return f"{ascii_view(self.layout, self.cell)}\nfacing {self.heading.word}"
        return None

    def _fits(self, layout: Layout) -> bool:
        needed = headed_distances(layout).get((layout.start, first_heading(layout)))
        return needed is not None and needed <= self._limit

    def _place(self, layout: Layout) -> None:
        super()._place(layout)
        self.heading = first_heading(layout)
        self._turned_distances = headed_distances(layout)
        self._distance = self._turned_distances.get((self.cell, self.heading), -1)

    def _play(self, layout: Layout, action: int) -> tuple[bool, bool]:
        before = self.cell, self.heading
        self.cell, self.heading, bumped = headed_transition(layout, *before, HeadedAction(action))
        after = self.cell, self.heading
        self._distance = self._turned_distances.get(after, -1)
        return after != before, bumped

    def _observation(self, layout: Layout) -> NDArray[np.uint8]:
        height, width = self.picture
        return render_first_person(
            layout, self.cell, self.heading, height=height, width=width, fov=self.fov, style=self.style
        )

    def _info(self, layout: Layout, *, bumped: bool, success: bool) -> dict[str, Any]:
        return {**super()._info(layout, bumped=bumped, success=success), "heading": int(self.heading)}
