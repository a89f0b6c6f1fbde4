"""How are many mazes stepped at once? A vector environment that lives in numpy alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from visgym_maze.envs.maze import MazeEnv
from visgym_maze.envs.pay import BatchPay
from visgym_maze.envs.tables import RESET, LevelTables
from visgym_maze.view.frames import render
from visgym_maze.view.text import ascii_view
from visgym_maze.world.dynamics import Action
from visgym_maze.world.layout import Layout
from visgym_maze.world.seeding import as_generator

# As arrays, since numpy converts a plain number anew at every use: a quarter of a microsecond each.
_STOP, _ONE = np.array(int(Action.STOP)), np.array(1)
_NOBODY = np.empty(0, dtype=np.int64)


class MazeVectorEnv(VectorEnv[Any, Any, NDArray[Any]]):
    """Many mazes that are played in step; each behaves exactly as a :class:`MazeEnv`.

    Two ways to get mazes. Without ``levels`` every episode gets a new one, drawn as
    ``gymnasium.vector.SyncVectorEnv`` over :class:`MazeEnv` draws it: the same seed gives the same mazes.
    With ``levels`` every episode picks one of them and no maze is ever made, which is what reaches tens of
    millions of steps per second.

    Info arrays: ``distance``, ``turns``, ``bumped``, ``success`` and, unless the cell is all that is seen,
    ``cell`` (int64, ``(num_envs, 2)``) and ``layout_key``, which would cost half as much as such a step; each
    with its mask. ``layouts`` gives the mazes that are being played.
    Any reward but a sparse :class:`~visgym_maze.rewards.RewardSpec` is called once per maze and step.

    Args:
        num_envs: Number of mazes.
        autoreset_mode: ``NEXT_STEP``: the step after the end starts the next episode and ignores its action.
            ``SAME_STEP``: the last step returns the first observation of the next episode, and the
            last one of this episode in ``info["final_obs"]`` and ``info["final_info"]``. ``DISABLED``: call
            ``reset(options={"reset_mask": mask})``.
        rules: Everything else, as for :class:`MazeEnv`.

    Raises:
        ValueError: If an argument is none of its choices.
    """

    metadata = MazeEnv.metadata | {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self,
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        **rules: Any,
    ) -> None:
        if num_envs < 1:
            raise ValueError(f"num_envs must be at least 1, got {num_envs}")
        self.num_envs = num_envs
        # A scalar environment that is never stepped: it checks the rules and draws the mazes.
        self.rules = MazeEnv(**rules)
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = type(self).metadata | {"autoreset_mode": self.autoreset_mode}
        self.render_mode = self.rules.render_mode
        self.single_observation_space = self.rules.observation_space
        self.single_action_space = self.rules.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        # One slot for each of the levels, then each environment's own for a maze that is drawn or given.
        levels = self.rules.levels or ()
        self._tables = LevelTables(len(levels) + num_envs, self.rules.size, self.rules.goal_rule)
        for slot, layout in enumerate(levels):
            self._tables.put(slot, layout)
        self._own = np.arange(len(levels), len(levels) + num_envs)
        self._picks = _NOBODY
        self._cap, self._cells = np.array(self.rules.max_turns), np.array(self._tables.cells)
        self._pay = BatchPay(self.rules.reward, self.rules.max_turns, num_envs)
        self._generators: list[np.random.Generator] = []
        self._first = np.zeros(num_envs, dtype=np.int64)  # state of cell 0 of the maze that is played
        self._state = np.zeros(num_envs, dtype=np.int64)
        self._turns = np.zeros(num_envs, dtype=np.int64)
        self._over = np.arange(num_envs)
        self._started = False
        self._all = np.ones(num_envs, dtype=np.bool_)
        self._all.flags.writeable = False

    @property
    def layouts(self) -> tuple[Layout, ...]:
        """The maze that each of the environments plays now."""
        return tuple(map(self._tables.layout, self._first.tolist()))

    def reset(
        self,
        *,
        seed: int | np.integer | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Start a new episode everywhere, or where a mask says.

        Args:
            seed: Restarts the random streams: one number, or without ``levels`` one for each environment. As
                in every Gymnasium vector environment a single number means ``seed``, ``seed + 1``, ...
            options: ``{"layout": Layout}`` plays that maze everywhere, ``{"layouts": [...]}`` one for each
                environment; ``{"reset_mask": mask}``, a bool array, leaves the others as they are.

        Returns:
            Observations of all, and infos of those that were reset.

        Raises:
            ValueError: If an option is unknown, or something has not one entry for each environment.
        """
        if isinstance(seed, np.integer):
            seed = int(seed)
        options = dict(options or {})
        mask = options.pop("reset_mask", self._all)
        given = options.pop("layouts", None)
        if "layout" in options:
            given = [options.pop("layout")] * self.num_envs
        if options:
            raise ValueError(f"unknown options {sorted(options)}; known: layout, layouts, reset_mask")
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (self.num_envs,):
            raise ValueError(f"reset_mask must be a bool array of shape ({self.num_envs},), got {mask!r}")
        if not self._started and not mask.all():
            raise RuntimeError("the first reset() has to reset all environments")
        self._reseed(seed)
        if given is not None and len(given) != self.num_envs:
            raise ValueError(f"{self.num_envs} environments need as many layouts, got {len(given)}")
        chosen = mask.nonzero()[0]
        if given is None:
            self._restart(chosen)
        else:
            self._restart_on(chosen, given)
        self._over = self._over[~mask[self._over]]
        self._started = True
        nothing = np.zeros(self.num_envs, dtype=np.bool_)
        return self._observations(), self._infos(nothing, nothing.copy(), mask)

    def step(
        self, actions: ArrayLike
    ) -> tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Take one action everywhere.

        Args:
            actions: Integers of shape ``(num_envs,)``.

        Raises:
            RuntimeError: Before the first reset, and without autoreset after the end of an episode.
            ValueError: If an action is not in the action space.
        """
        chosen = self._checked(actions)
        if self._over.size:
            if not self._started or self.autoreset_mode is AutoresetMode.DISABLED:
                raise RuntimeError(
                    f"episodes {self._over[:8]} are over or have not begun; call reset() first"
                )
            self._restart(self._over, turns=-1)  # this step is none of the episode's
            chosen[self._over] = RESET
        outcomes = self._tables.outcomes(self._state, chosen)
        change, bumped, success = outcomes["change"], outcomes["bumped"], outcomes["wins"].copy()
        self._state += change
        self._turns += _ONE
        terminated = (chosen == _STOP) | success
        truncated = np.greater(self._turns >= self._cap, terminated)  # due, but not terminated
        over = terminated | truncated
        if not self._pay.success_alone:
            distance, before = self._tables.distance, self._state - change
            rewards = self._pay.for_outcomes(
                chosen != RESET,
                self._turns,
                distance[before],
                distance[self._state],
                change != 0,
                bumped,
                terminated,
                truncated,
                success,
            )
        else:
            rewards = self._pay.for_success(success)
        self._over = over.nonzero()[0]
        infos = self._infos(bumped, success, self._all)
        if self._over.size and self.autoreset_mode is AutoresetMode.SAME_STEP:
            infos = self._next_episodes(over, infos)
        return self._observations(), rewards, terminated, truncated, infos

    def render(self) -> tuple[Any, ...] | None:
        """A picture or text for each maze, or None without a render mode."""
        if self.render_mode is None:
            return None
        cells = map(tuple, self._tables.positions(self._state - self._first).tolist())
        if self.render_mode == "ansi":
            return tuple(map(ascii_view, self.layouts, cells))
        return tuple(map(render, self.layouts, cells, repeat(self.rules.style)))

    def _reseed(self, seed: int | Sequence[int | None] | None) -> None:
        if self.rules.levels is not None:
            if not (seed is None or isinstance(seed, int)):
                raise ValueError(f"with levels there is one random stream and one seed, got {seed!r}")
            super().reset(seed=seed)
            self._picks = self._picks if seed is None else _NOBODY
            return
        if seed is None:
            seeds: Sequence[int | None] = [None] * self.num_envs
        else:
            seeds = [seed + i for i in range(self.num_envs)] if isinstance(seed, int) else seed
        if len(seeds) != self.num_envs:
            raise ValueError(f"{self.num_envs} environments need as many seeds, got {len(seeds)}")
        old = self._generators or [None] * self.num_envs
        self._generators = [
            as_generator(new) if last is None or new is not None else last
            for new, last in zip(seeds, old, strict=True)
        ]

    def _restart(self, chosen: NDArray[np.int64], turns: int = 0) -> None:
        """Begin new episodes in the environments of these numbers."""
        levels, count = self.rules.levels, len(chosen)
        if levels is None:
            self._restart_on(
                chosen, {i: self.rules.draw(self._generators[i]) for i in chosen.tolist()}, turns
            )
            return
        if count > len(self._picks):  # drawn ahead, since one large draw is far cheaper than many small ones
            self._picks = self.np_random.integers(len(levels), size=max(4096, count))
        self._begin(chosen, self._picks[:count], turns)
        self._picks = self._picks[count:]

    def _restart_on(
        self, chosen: NDArray[np.int64], layouts: Sequence[Layout] | dict[int, Layout], turns: int = 0
    ) -> None:
        """Begin new episodes on mazes of one's own."""
        for i in chosen.tolist():
            self.rules.check_shape(layouts[i])
            self._tables.put(int(self._own[i]), layouts[i])
        self._begin(chosen, self._own[chosen], turns)

    def _begin(self, chosen: NDArray[np.int64], slots: NDArray[np.int64], turns: int) -> None:
        start = self._tables.start[slots]
        self._first[chosen], self._state[chosen] = slots * self._cells, start
        self._turns[chosen] = turns
        if not self._pay.success_alone:
            self._pay.begin(chosen, self._tables.distance[start])

    def _next_episodes(self, over: NDArray[np.bool_], final: dict[str, Any]) -> dict[str, Any]:
        """Begin the episodes that follow, and return the infos that the same step gives."""
        observations = np.full(self.num_envs, None, dtype=object)
        for i, observation in zip(self._over.tolist(), self._observations(self._over), strict=True):
            observations[i] = observation
        for key in tuple(final):
            final[key] = over.copy() if key.startswith("_") else final[key]
        self._restart(self._over)
        self._over = _NOBODY
        infos = self._infos(np.greater(final["bumped"], over), np.greater(final["success"], over), self._all)
        infos |= {"final_obs": observations, "_final_obs": over.copy()}
        return infos | {"final_info": final, "_final_info": over.copy()}

    def _checked(self, actions: ArrayLike) -> NDArray[np.int64]:
        """The actions as a fresh int64 array."""
        given = np.asarray(actions)
        if given.shape != (self.num_envs,) or given.dtype.kind not in "iu":
            raise ValueError(f"need integers of shape ({self.num_envs},), got {given.dtype} {given.shape}")
        chosen = given.astype(np.int64)
        if chosen.view(np.uint64).max() >= len(Action):  # as unsigned, negative numbers are huge
            raise ValueError(
                f"actions must be from 0 to {len(Action) - 1}, got {chosen.min()} to {chosen.max()}"
            )
        return chosen

    def _observations(self, chosen: NDArray[np.int64] | None = None) -> Any:
        """Fresh observations of all environments, or of those with the given numbers."""
        first, states = (
            (self._first, self._state) if chosen is None else (self._first[chosen], self._state[chosen])
        )
        cells = states - first
        if self.rules.observe == "cell":
            return cells
        if self.rules.observe == "grid":
            return self._tables.grids(first, cells)
        pictures = np.empty((len(cells), *(self.single_observation_space.shape or ())), dtype=np.uint8)
        layouts = map(self._tables.layout, first.tolist())
        positions = map(tuple, self._tables.positions(cells).tolist())
        for picture, layout, position in zip(pictures, layouts, positions, strict=True):
            picture[:] = render(layout, position, self.rules.style)
        return pictures

    def _infos(
        self, bumped: NDArray[np.bool_], success: NDArray[np.bool_], present: NDArray[np.bool_]
    ) -> dict[str, Any]:
        infos: dict[str, Any] = {
            "distance": self._tables.distance[self._state],
            "turns": self._turns.copy(),
            "bumped": bumped,
            "success": success,
            "_distance": present,
            "_turns": present,
            "_bumped": present,
            "_success": present,
        }
        if self.rules.observe != "cell":
            infos |= {"cell": self._tables.positions(self._state - self._first), "_cell": present}
            infos |= {"layout_key": self._tables.keys[self._first // self._cells], "_layout_key": present}
        return infos
