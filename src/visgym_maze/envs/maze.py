"""How does a maze look as a Gymnasium environment?"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from enum import IntEnum
from typing import Any, ClassVar, SupportsIndex

import gymnasium
import numpy as np

from visgym_maze.envs.observation import observation_space, observe
from visgym_maze.rewards import RewardFunction, RewardSpec, TurnOutcome, success_alone
from visgym_maze.view.frames import render
from visgym_maze.view.style import Style, style_named
from visgym_maze.view.text import ascii_view
from visgym_maze.view.top_down import plain_view
from visgym_maze.world.algorithms import MazeGenerator
from visgym_maze.world.dynamics import DELTAS, Action
from visgym_maze.world.endpoints import Endpoints
from visgym_maze.world.generation import Size, check_size, generate
from visgym_maze.world.layout import Layout
from visgym_maze.world.seeding import check_seed
from visgym_maze.world.solver import solve
from visgym_maze.world.splits import moves_within


class MazeEnv(gymnasium.Env[Any, Any]):
    """A maze seen from above.

    Description:
        A blue disc has to find its way through grey walls to the red cell and stop there.
    Action Space:
        ``Discrete(5)``: 0 right, 1 up, 2 left, 3 down, 4 stop. Walking into a wall moves nothing.
    Observation Space:
        By default ``Box(0, 255, (height, width, 3), uint8)``: the RGB picture. A new array every time.
        See :func:`visgym_maze.envs.observation.observation_space` for the others.
    Rewards:
        Those of the ``reward`` object; by default 1 for success and 0 else.
    Episode End:
        Terminated by stop (success on the goal only), or with ``goal_rule="reach"`` also by standing on
        the goal; truncated after ``max_turns`` actions. A step after the end is an error.
    Registered Configurations:
        - ``VisGymMaze/Maze2D-Easy-v0``: 9x9, every maze solvable within 15 turns.
        - ``VisGymMaze/Maze2D-Hard-v0``: 11x11, every maze solvable within 25 turns. None of that size
          is at 15; at 25 it is 95.6 % of all, so the filter bends their distribution no more
          than a cap of 18 would at 9x9 (94.2 %).
        - ``VisGymMaze/Maze2D-Easy-VisGym-v0``, ``...-Hard-VisGym-v0``: the mazes and pictures of VisGym
          for the same seed, unfiltered: at 15 turns about 72 % of the easy and none of the hard ones
          can be solved.

    Args:
        size: Side or ``(height, width)`` in cells, odd, at least 5.
        levels: Mazes to play, for example a :class:`~visgym_maze.world.splits.Split`; each reset picks
            one at random. None makes a new maze at every reset.
        generator: Name of the generation algorithm, or a callable.
        endpoints: Name of the start/goal policy, or a callable.
        max_turns: Turn cap.
        solvable: Whether every maze has to be solvable within the cap: others are drawn again, and are
            refused in ``levels``.
        goal_rule: ``"stop"`` or ``"reach"``.
        reward: Called once per step.
        observe: ``"image"``, ``"grid"`` or ``"cell"``.
        style: Look of the pictures.
        render_mode: ``"rgb_array"``, ``"ansi"`` or None.

    Raises:
        ValueError: If an argument is none of its choices, or ``levels`` holds no mazes, mazes of another
            size, or some that can't be solved within the cap.
    """

    actions: ClassVar[type[IntEnum]] = Action
    metadata = gymnasium.Env.metadata | {"render_modes": ["rgb_array", "ansi"], "render_fps": 4}

    def __init__(
        self,
        size: Size = 9,
        *,
        levels: Sequence[Layout] | None = None,
        generator: str | MazeGenerator = "wilson",
        endpoints: str | Endpoints = "corners",
        max_turns: int = 15,
        solvable: bool = True,
        goal_rule: str = "stop",
        reward: RewardFunction | None = None,
        observe: str = "image",
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
        self.observe = observe
        self.style = style_named(style)
        self.render_mode = render_mode
        self.observation_space = observation_space(observe, self.size, self.style)
        self.action_space = gymnasium.spaces.Discrete(len(self.actions))
        self._stop = len(self.actions) - 1  # the last of them
        self._sparse = success_alone(self.reward)
        self._reach = goal_rule == "reach"
        self._changes = [row * self.size[1] + column for row, column in DELTAS]
        self.levels = None if levels is None else self._check_levels(levels)
        self.layout: Layout | None = None
        self._over = True

    def _check_levels(self, levels: Sequence[Layout]) -> tuple[Layout, ...]:
        if not len(levels):
            raise ValueError("levels holds no mazes; pass None to make new ones")
        for layout in levels:
            self.check_shape(layout)
        unsolvable = sum(not self._fits(layout) for layout in levels)
        if self.solvable and unsolvable:
            raise ValueError(
                f"{unsolvable} of {len(levels)} mazes cannot be solved within {self.max_turns} turns; take "
                "shorter ones (max_moves), allow more turns, or pass solvable=False"
            )
        return tuple(levels)

    def check_shape(self, layout: Layout) -> None:
        """Raise a ValueError if the maze has another size than this environment."""
        if layout.shape != self.size:
            raise ValueError(
                f"this environment has size {self.size}, {layout!r} does not; pass size={layout.shape}"
            )

    def draw(self, rng: np.random.Generator) -> Layout:
        """The maze that a reset plays when it draws from ``rng``."""
        if self.levels is not None:
            return self.levels[int(rng.integers(len(self.levels)))]
        limit = self._limit if self.solvable else None
        return generate(self.size, self.generator, rng, endpoints=self.endpoints, max_moves=limit)

    @property
    def _limit(self) -> int:
        return moves_within(self.max_turns, self.goal_rule)

    def _fits(self, layout: Layout) -> bool:
        """Whether a perfect player finishes within the turn cap."""
        return 0 <= solve(layout).moves <= self._limit

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start a new maze.

        Args:
            seed: Restarts the environment's own random stream.
            options: ``{"layout": Layout}`` plays that maze instead of a random one.

        Returns:
            The observation and the info dictionary.

        Raises:
            ValueError: If there is another option, or the layout has another size.
        """
        # Gymnasium refuses the integers of numpy.
        super().reset(seed=None if seed is None else check_seed(seed))
        options = options or {}
        if options.keys() - {"layout"}:
            raise ValueError(f"the one option is 'layout', got {sorted(options)}")
        layout = options.get("layout")
        if layout is None:
            layout = self.draw(self.np_random)
        self.check_shape(layout)
        self.layout = layout
        self._place(layout)
        self._start_distance = self._distance
        self.turns = self._moves = 0
        self._unpaid = 0.0
        self._over = False
        return self._observation(layout), self._info(layout, bumped=False, success=False)

    def step(self, action: SupportsIndex) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take one action.

        Raises:
            RuntimeError: If the episode has not begun or is over.
            ValueError: If the action is not in the action space.
        """
        layout = self.layout
        if layout is None or self._over:
            raise RuntimeError("the episode is over or has not begun; call reset() first")
        try:
            chosen = operator.index(action)
        except TypeError:
            chosen = -1
        if not 0 <= chosen <= self._stop:
            raise ValueError(f"action must be an integer from 0 to {self._stop}, got {action!r}")
        before = self._distance
        moved, bumped = self._play(layout, chosen)
        after = self._distance
        self.turns += 1
        self._moves += moved
        stopped = chosen == self._stop
        success = after == 0 and (stopped or self._reach)
        terminated = success or stopped
        truncated = not terminated and self.turns >= self.max_turns
        self._over = terminated or truncated
        if self._sparse is None:
            reward = self._pay(
                TurnOutcome(
                    self.turns,
                    self.max_turns,
                    before,
                    after,
                    self._start_distance,
                    self._moves,
                    True,  # every action of the space names one
                    bumped,
                    self.turns,
                    terminated,
                    truncated,
                    success,
                )
            )
        else:
            reward = self._sparse if success else 0.0
        return (
            self._observation(layout),
            reward,
            terminated,
            truncated,
            self._info(layout, bumped=bumped, success=success),
        )

    def render(self) -> Any:
        """The picture (``"rgb_array"``), the maze as text (``"ansi"``), or None."""
        if self.layout is None:
            raise RuntimeError("call reset() before render()")
        if self.render_mode == "rgb_array":
            return render(self.layout, self.cell, self.style)
        return ascii_view(self.layout, self.cell) if self.render_mode == "ansi" else None

    def _place(self, layout: Layout) -> None:
        """Put the agent where an episode begins."""
        self.cell = layout.start
        self._at = layout.start[0] * layout.width + layout.start[1]
        self._distances = solve(layout).table
        self._distance = self._distances[self._at]
        if self.observe == "image":
            self._camera = plain_view(self.style).camera(layout)

    def _play(self, layout: Layout, action: int) -> tuple[bool, bool]:
        """Carry an action out; returns whether the agent moved and whether it bumped into a wall."""
        there = self._at + self._changes[action]
        if layout.walls[there]:
            return False, True
        if there == self._at:
            return False, False
        self._at, self.cell = there, divmod(there, layout.width)
        self._distance = self._distances[there]
        return True, False

    def _pay(self, outcome: TurnOutcome) -> float:
        reward = float(self.reward(outcome))
        if getattr(self.reward, "per_turn", True):
            return reward
        self._unpaid += reward
        return self._unpaid if outcome.terminated or outcome.truncated else 0.0

    def _observation(self, layout: Layout) -> Any:
        if self.observe == "image":
            return self._camera.frame(self.cell)
        return observe(self.observe, layout, self.cell)

    def _info(self, layout: Layout, *, bumped: bool, success: bool) -> dict[str, Any]:
        return {
            "cell": self.cell,
            "distance": self._distance,
            "layout_key": layout.key,
            "turns": self.turns,
            "bumped": bumped,
            "success": success,
        }
