"""How does a maze look as a Gymnasium environment?"""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium
import numpy as np
from numpy.typing import NDArray

from visgym_maze.rewards import RewardFunction, RewardSpec, TurnOutcome
from visgym_maze.view.frames import render
from visgym_maze.view.style import Style, style_named
from visgym_maze.view.text import ascii_view
from visgym_maze.world.algorithms import MazeGenerator
from visgym_maze.world.dynamics import Action, transition
from visgym_maze.world.endpoints import Endpoints
from visgym_maze.world.generation import Size, check_size, generate
from visgym_maze.world.layout import Layout
from visgym_maze.world.solver import solve
from visgym_maze.world.splits import moves_within


class MazeEnv(gymnasium.Env[NDArray[np.uint8], np.int64]):
    """A maze seen from above.

    Description:
        A blue disc has to find its way through grey walls to the red cell and stop there.
    Action Space:
        ``Discrete(5)``: 0 right, 1 up, 2 left, 3 down, 4 stop. Walking into a wall moves nothing.
    Observation Space:
        ``Box(0, 255, (height, width, 3), uint8)``: the RGB picture. A new array every time.
    Rewards:
        Those of the ``reward`` object; by default 1 for success and 0 else.
    Episode End:
        Terminated by stop (success on the goal only), or with ``goal_rule="reach"`` also by standing on
        the goal; truncated after ``max_turns`` actions. A step after the end is an error.
    Registered Configurations:
        - ``VisGymMaze/Maze2D-Easy-v0``: 9x9, every maze solvable within 15 turns.
        - ``VisGymMaze/Maze2D-Hard-v0``: 11x11, every maze solvable within 25 turns.
        - ``VisGymMaze/Maze2D-Easy-VisGym-v0``, ``...-Hard-VisGym-v0``: the mazes and pictures of VisGym
          for the same seed, unfiltered: at 15 turns about 72 % of the easy and none of the hard ones
          can be solved.

    Args:
        size: Side or ``(height, width)`` in cells, odd, at least 5.
        generator: Name of the generation algorithm, or a callable.
        endpoints: Name of the start/goal policy, or a callable.
        max_turns: Turn cap.
        solvable: Whether mazes that can't be solved within the cap are drawn again.
        goal_rule: ``"stop"`` or ``"reach"``.
        reward: Called once per step.
        style: Look of the pictures.
        render_mode: ``"rgb_array"``, ``"ansi"`` or None.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array", "ansi"], "render_fps": 4}

    def __init__(
        self,
        size: Size = 9,
        *,
        generator: str | MazeGenerator = "wilson",
        endpoints: str | Endpoints = "corners",
        max_turns: int = 15,
        solvable: bool = True,
        goal_rule: str = "stop",
        reward: RewardFunction | None = None,
        style: str | Style = "visgym",
        render_mode: str | None = None,
    ) -> None:
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise ValueError(
                f"unknown render_mode {render_mode!r}; known: {', '.join(self.metadata['render_modes'])}"
            )
        if max_turns < 1:
            raise ValueError(f"max_turns must be at least 1, got {max_turns}")
        if goal_rule not in ("stop", "reach"):
            raise ValueError(f"unknown goal_rule {goal_rule!r}; known: stop, reach")
        self.size = check_size(size)
        self.generator = generator
        self.endpoints = endpoints
        self.max_turns = max_turns
        self.solvable = solvable
        self.goal_rule = goal_rule
        self.reward: RewardFunction = RewardSpec() if reward is None else reward
        self.style = style_named(style)
        self.render_mode = render_mode
        picture = self.style.picture_size(*self.size)
        self.observation_space = gymnasium.spaces.Box(0, 255, (*picture, 3), np.uint8)
        self.action_space = gymnasium.spaces.Discrete(len(Action))
        self.layout: Layout | None = None
        self._over = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.uint8], dict[str, Any]]:
        """Start a new maze.

        Args:
            seed: Restarts the environment's own random stream.
            options: ``{"layout": Layout}`` plays that maze instead of a random one.

        Returns:
            The picture and the info dictionary.
        """
        super().reset(seed=seed)
        layout = (options or {}).get("layout")
        if layout is None:
            layout = generate(
                self.size,
                self.generator,
                self.np_random,
                endpoints=self.endpoints,
                max_moves=moves_within(self.max_turns, self.goal_rule) if self.solvable else None,
            )
        elif layout.shape != self.size:
            raise ValueError(f"this environment has size {self.size}, the layout {layout.shape}")
        self.layout = layout
        self.cell = layout.start
        self.turns = self._moves = 0
        self._over = False
        return self._observe(), self._info(success=False)

    def step(self, action: np.int64 | int) -> tuple[NDArray[np.uint8], float, bool, bool, dict[str, Any]]:
        """Take one action.

        Raises:
            RuntimeError: If the episode has not begun or is over.
            ValueError: If the action is not in the action space.
        """
        if self.layout is None or self._over:
            raise RuntimeError("the episode is over or has not begun; call reset() first")
        if not self.action_space.contains(np.int64(action)):
            raise ValueError(f"action must be an integer from 0 to 4, got {action!r}")
        chosen = Action(int(action))
        distance = solve(self.layout).distance
        before = self.cell
        self.cell, bumped = transition(self.layout, before, chosen)
        self.turns += 1
        self._moves += self.cell != before
        on_goal = self.cell == self.layout.goal
        success = on_goal and (chosen is Action.STOP or self.goal_rule == "reach")
        terminated = success or chosen is Action.STOP
        truncated = not terminated and self.turns >= self.max_turns
        self._over = terminated or truncated
        reward = self.reward(
            TurnOutcome(
                turn=self.turns,
                max_turns=self.max_turns,
                distance_before=distance(before),
                distance_after=distance(self.cell),
                start_distance=distance(self.layout.start),
                moves=self._moves,
                acted=True,
                bumped=bumped,
                well_formed=self.turns,
                terminated=terminated,
                truncated=truncated,
                success=success,
            )
        )
        info = self._info(success=success, bumped=bumped)
        return self._observe(), float(reward), terminated, truncated, info

    def render(self) -> Any:
        """The picture (``"rgb_array"``), the maze as text (``"ansi"``), or None."""
        if self.layout is None:
            raise RuntimeError("call reset() before render()")
        if self.render_mode == "rgb_array":
            return self._observe()
        return ascii_view(self.layout, self.cell) if self.render_mode == "ansi" else None

    def _observe(self) -> NDArray[np.uint8]:
        assert self.layout is not None
        return render(self.layout, self.cell, self.style)

    def _info(self, *, success: bool, bumped: bool = False) -> dict[str, Any]:
        assert self.layout is not None
        return {
            "cell": self.cell,
            "distance": solve(self.layout).distance(self.cell),
            "layout_key": self.layout.key,
            "turns": self.turns,
            "bumped": bumped,
            "success": success,
        }
