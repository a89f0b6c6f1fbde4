"""Who does the same work, and how? This package, the usual pygame and Pillow, and two published packages.

A flow plays one maze at a time: ``reset`` begins a new maze, ``step`` takes the next of a fixed round of
moves, ``frame`` gives the picture as an array and ``uri`` as a data URI.
"""

from __future__ import annotations

import base64
import io
import itertools
import os
from typing import Any, Protocol

import numpy as np
from PIL import Image

from visgym_maze import Cell, Layout, MazeDialogue, MazeEnv, generate, png_bytes, render
from visgym_maze.view.png import to_data_uri
from visgym_maze.world.dynamics import DELTAS

os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

ROUND = (0, 2, 1, 3, 0, 0, 3, 3, 2, 2, 1, 1)
ANSWERS = ("<action>right</action>", "<action>down</action>", "<action>left</action>", "<action>up</action>")
CELL = 25


class Flow(Protocol):
    """One way to play mazes."""

    def reset(self) -> object:
        """Begin a new maze."""

    def step(self) -> object:
        """Take the next move, without a picture."""

    def frame(self) -> np.ndarray:
        """The picture after the last move."""

    def uri(self) -> str:
        """The same as a data URI."""


def pillow_uri(frame: np.ndarray) -> str:
    """An RGB array as Pillow's default PNG, in base64."""
    buffer = io.BytesIO()
    Image.fromarray(frame).save(buffer, format="PNG")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


class OurFlow:
    """This package, through its Gymnasium environment."""

    def __init__(self, size: int) -> None:
        options: dict[str, Any] = {"size": size, "max_turns": 10**9, "solvable": False}
        self._env = MazeEnv(**options, observe="cell")
        self._pictured = MazeEnv(**options)
        self._moves = itertools.cycle(ROUND)
        self._pictured.reset()
        self.reset()

    def reset(self) -> object:
        self._env.reset()

    def reset_with_frame(self) -> object:
        return self._pictured.reset()

    def step(self) -> object:
        return self._env.step(next(self._moves))

    def step_with_frame(self) -> object:
        return self._pictured.step(next(self._moves))

    def frame(self) -> np.ndarray:
        return render(self.layout, self._env.cell)

    def uri(self) -> str:
        """Put together from compressed rows of cells, but not taken from the cache of whole pictures."""
        return to_data_uri(png_bytes(self.layout, self._env.cell))

    @property
    def layout(self) -> Layout:
        assert self._env.layout is not None
        return self._env.layout


class PygameFlow:
    """Rectangles and a disc by pygame, PNG by Pillow: how VisGym and its kin make their pictures."""

    def __init__(self, size: int) -> None:
        import pygame

        self._pygame = pygame
        self._size = size
        self._rng = np.random.default_rng(0)
        self._moves = itertools.cycle(ROUND)
        self.reset()

    def reset(self) -> object:
        self.begin(generate(self._size, "wilson-visgym", self._rng))

    def begin(self, layout: Layout) -> None:
        """Draw a maze that has been made already."""
        pygame = self._pygame
        self.layout, self.cell = layout, layout.start
        self._canvas = pygame.Surface((layout.width * CELL, layout.height * CELL))
        self._canvas.fill((255, 255, 255))
        for row in range(layout.height):
            for column in range(layout.width):
                if layout.is_wall((row, column)):
                    self._tile((row, column), (169, 169, 169))
        self._tile(layout.goal, (255, 0, 0))
        self._disc()

    def step(self) -> object:
        self.move(next(self._moves))

    def move(self, action: int) -> None:
        """Move the agent and paint it at its new place."""
        row, column = self.cell[0] + DELTAS[action][0], self.cell[1] + DELTAS[action][1]
        if not self.layout.is_wall((row, column)):
            self._tile(self.cell, (255, 0, 0) if self.cell == self.layout.goal else (255, 255, 255))
            self.cell = row, column
            self._disc()

    def frame(self) -> np.ndarray:
        pixels = np.array(self._pygame.surfarray.pixels3d(self._canvas))
        return np.ascontiguousarray(np.transpose(pixels, axes=(1, 0, 2)))

    def uri(self) -> str:
        return pillow_uri(self.frame())

    def _tile(self, cell: Cell, colour: tuple[int, int, int]) -> None:
        rectangle = self._pygame.Rect(cell[1] * CELL, cell[0] * CELL, CELL, CELL)
        self._pygame.draw.rect(self._canvas, colour, rectangle)

    def _disc(self) -> None:
        centre = (int((self.cell[1] + 0.5) * CELL), int((self.cell[0] + 0.5) * CELL))
        self._pygame.draw.circle(self._canvas, (0, 0, 255), centre, CELL // 4)


class MazeWorldFlow:
    """The package maze-world."""

    def __init__(self, size: int) -> None:
        from maze_world.envs import RandomMazeEnv

        self._env = RandomMazeEnv(render_mode="rgb_array", maze_width=size, maze_height=size)
        self._moves = itertools.cycle(ROUND)
        self.reset()

    def reset(self) -> object:
        return self._env.reset()

    def step(self) -> object:
        return self._env.step(next(self._moves))

    def frame(self) -> np.ndarray:
        return np.ascontiguousarray(self._env.render())

    def uri(self) -> str:
        return pillow_uri(self.frame())


class MiniGridFlow:
    """The package minigrid, on mazes made by this package (it has none of this kind)."""

    def __init__(self, size: int) -> None:
        from minigrid.core.grid import Grid
        from minigrid.core.mission import MissionSpace
        from minigrid.core.world_object import Goal, Wall
        from minigrid.minigrid_env import MiniGridEnv

        class Maze(MiniGridEnv):
            def __init__(self) -> None:
                mission = MissionSpace(mission_func=lambda: "reach the goal")
                super().__init__(mission, grid_size=size, max_steps=10**9, tile_size=CELL, highlight=False)

            def _gen_grid(self, width: int, height: int) -> None:
                layout = generate((height, width), "wilson-visgym", self.np_random)
                self.grid = Grid(width, height)
                for row, column in np.argwhere(layout.grid).tolist():
                    self.grid.set(column, row, Wall())
                self.put_obj(Goal(), layout.goal[1], layout.goal[0])
                self.agent_pos, self.agent_dir = (layout.start[1], layout.start[0]), 0
                self.mission = "reach the goal"

        self._env = Maze()
        # Turning left and right: never at an end, and what it draws changes with every step.
        self._moves = itertools.cycle((0, 0, 1, 0, 1, 1))
        self.reset()

    def reset(self) -> object:
        return self._env.reset()

    def step(self) -> object:
        return self._env.step(next(self._moves))

    def frame(self) -> np.ndarray:
        return self._env.get_frame(highlight=False, tile_size=CELL)

    def uri(self) -> str:
        return pillow_uri(self.frame())


def our_group(size: int, rng: np.random.Generator, rollouts: int, turns: int) -> None:
    """A new maze, and that many episodes of it as dialogues with pictures."""
    layout = generate(size, rng=rng)
    for _ in range(rollouts):
        dialogue = MazeDialogue(layout, max_turns=turns)
        dialogue.reset()
        for turn in range(turns):
            dialogue.step(ANSWERS[turn % 4])


def pygame_group(size: int, rollouts: int, turns: int) -> None:
    """The same with pygame and Pillow: a picture to begin with and one after each turn but the last."""
    flow = PygameFlow(size)
    layout = flow.layout
    for _ in range(rollouts):
        flow.begin(layout)
        messages = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": flow.uri()}}]}]
        for turn in range(turns):
            messages.append({"role": "assistant", "content": ANSWERS[turn % 4]})
            flow.move((0, 3, 2, 1)[turn % 4])
            if turn < turns - 1:
                part = {"type": "image_url", "image_url": {"url": flow.uri()}}
                messages.append({"role": "user", "content": [part]})
