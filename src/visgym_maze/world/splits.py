"""Which mazes are for training and which for evaluation? Never the same walls in both.

The walls of a maze alone decide its role: a hash of them (by default of their symmetry class, so
that rotated and mirrored twins stay together) falls into the train, dev or eval range. No seed, size
or count can move a maze from one role to another, so every train split is disjoint from every eval
split that was made with the same ``symmetry``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import index
from pathlib import Path
from typing import Any, SupportsIndex, overload

from visgym_maze.files import write_text
from visgym_maze.world.generation import Size, check_size, generate
from visgym_maze.world.layout import Layout, _digest
from visgym_maze.world.manifest import read_manifest, to_manifest
from visgym_maze.world.seeding import child_generator
from visgym_maze.world.solver import solve

ROLE_SHARES: dict[str, float] = {"train": 0.7, "dev": 0.1, "eval": 0.2}
"""Share of all wall grids (or symmetry classes) that belongs to each role."""

_STALL = 20_000


def moves_within(max_turns: int, goal_rule: str = "stop") -> int:
    """Longest shortest path, in moves, that an episode of ``max_turns`` turns can finish.

    With the goal rule ``"stop"`` the last turn is needed for the stop itself.
    """
    return max_turns - 1 if goal_rule == "stop" else max_turns


def role_of(layout: Layout, *, symmetry: bool = True) -> str:
    """The role (``"train"``, ``"dev"`` or ``"eval"``) to which the walls of ``layout`` belong."""
    key = layout.symmetry_key if symmetry else layout.split_key
    position = int(_digest(b"role", key.encode()), 16) / 16**32
    for role, share in ROLE_SHARES.items():
        position -= share
        if position < 0:
            return role
    return "eval"


def levels_key(levels: Iterable[Layout]) -> str:
    """32 hex digits that name some mazes and their order."""
    return _digest(*(layout.key.encode() for layout in levels))


@dataclass(frozen=True)
class SplitSpec:
    """Everything that determines a split; the same spec always gives the same mazes."""

    name: str
    size: tuple[int, int]
    n: int
    seed: int = 0
    max_moves: int | None = None
    generator: str = "wilson"
    endpoints: str = "corners"
    symmetry: bool = True


@dataclass(frozen=True)
class Split(Sequence[Layout]):
    """A fixed sequence of distinct mazes of one role.

    Attributes:
        spec: How it was made.
        levels: Its mazes.
    """

    spec: SplitSpec
    levels: tuple[Layout, ...]

    @classmethod
    def make(
        cls,
        name: str,
        size: Size = 9,
        n: int = 64,
        seed: int = 0,
        max_moves: int | None = None,
        *,
        generator: str = "wilson",
        endpoints: str = "corners",
        symmetry: bool = True,
        at_most: bool = False,
    ) -> Split:
        """Draw ``n`` distinct mazes that belong to the role ``name``.

        Args:
            name: ``"train"``, ``"dev"`` or ``"eval"``.
            size: Side or ``(height, width)`` of the mazes.
            n: Number of mazes.
            seed: Decides which mazes of the role are drawn, and their order.
            max_moves: Longest shortest path; see :func:`moves_within` for a turn cap.
            generator: Name of the generation algorithm.
            endpoints: Name of the start/goal policy.
            symmetry: Whether rotated and mirrored twins share a role. Splits that differ in this
                may overlap.
            at_most: Whether ``n`` is an upper bound: a role with fewer mazes then gives all it has.

        Raises:
            TypeError: If a number is no integer.
            ValueError: If the name is unknown, ``n`` is below 1, or the role has fewer than ``n``
                such mazes (with ``at_most``: none).
        """
        if name not in ROLE_SHARES:
            raise ValueError(f"unknown split {name!r}; known: {', '.join(ROLE_SHARES)}")
        n = _integer("n", n)
        if n < 1:
            raise ValueError(f"a split needs at least 1 maze, got n={n}")
        max_moves = None if max_moves is None else _integer("max_moves", max_moves)
        seed = _integer("seed", seed)
        spec = SplitSpec(name, check_size(size), n, seed, max_moves, generator, endpoints, symmetry)
        levels = tuple(_draw_levels(spec))
        if len(levels) < n and not (at_most and levels):
            raise ValueError(_shortage(spec, len(levels)))
        return cls(replace(spec, n=len(levels)), levels)

    @cached_property
    def key(self) -> str:
        """32 hex digits that name the mazes and their order."""
        return levels_key(self.levels)

    def solvable_within(self, moves: int) -> int:
        """How many of the mazes have a shortest path of at most ``moves`` moves."""
        return sum(0 <= solve(layout).moves <= moves for layout in self.levels)

    def to_manifest(self) -> dict[str, Any]:
        """A JSON-ready record of the spec, every maze and the key."""
        return to_manifest(self)

    def save(self, path: str | Path) -> None:
        """Write the manifest as JSON, under a temporary name first."""
        write_text(path, json.dumps(self.to_manifest(), indent=1) + "\n")

    @classmethod
    def load(cls, path: str | Path) -> Split:
        """Read a manifest and verify that its mazes are what its spec and its key say.

        Raises:
            ValueError: If the file is no manifest, or its key, number, role, size, longest path or
                generator doesn't fit a maze in it.
        """
        spec, levels, key = read_manifest(path, SplitSpec)
        split = cls(spec, levels)
        if split.key != key:
            raise ValueError(f"{path} says its key is {key}, its mazes have {split.key}")
        if len(set(split.levels)) != spec.n:
            raise ValueError(
                f"{path} says it holds {spec.n} mazes, it has {len(set(split.levels))} different"
            )
        for layout in split.levels:
            if role_of(layout, symmetry=spec.symmetry) != spec.name:
                raise ValueError(f"{path} holds {layout!r}, which does not belong to {spec.name!r}")
        return split

    def __len__(self) -> int:
        return len(self.levels)

    def __iter__(self) -> Iterator[Layout]:
        return iter(self.levels)

    @overload
    def __getitem__(self, index: int) -> Layout: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Layout, ...]: ...
    def __getitem__(self, index: int | slice) -> Layout | tuple[Layout, ...]:
        return self.levels[index]


def _integer(name: str, value: SupportsIndex) -> int:
    try:
        return index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {value!r}") from None


def _shortage(spec: SplitSpec, found: int) -> str:
    """That a role has too few mazes, and what helps."""
    height, width = spec.size
    limit = "" if spec.max_moves is None else f" with max_moves={spec.max_moves}"
    remedies = [f"ask for at most {found}"] if found else []
    remedies += [] if spec.max_moves is None else ["allow longer paths"]
    remedies += ["take a larger maze"]
    remedies += ["use symmetry=False for all of the splits"] if spec.symmetry else []
    return (
        f"asked for {spec.n} mazes, but only {found} were found in the {spec.name!r} split of "
        f"{height}x{width}{limit}; {', '.join(remedies[:-1])} or {remedies[-1]}"
    )


def _draw_levels(spec: SplitSpec) -> Iterator[Layout]:
    """Yield up to ``spec.n`` distinct levels of the role; fewer if no more are found."""
    rng = child_generator(spec.seed, list(ROLE_SHARES).index(spec.name))
    seen: set[Layout] = set()
    misses = 0
    # Each new level costs on average total/left draws, so a role that still has one more level among N
    # is missed _STALL times in a row with probability (1 - 1/N)**_STALL at most.
    while len(seen) < spec.n and misses < _STALL:
        layout = generate(spec.size, spec.generator, rng, endpoints=spec.endpoints)
        moves = solve(layout).moves if spec.max_moves is not None else 0
        fits = spec.max_moves is None or 0 <= moves <= spec.max_moves
        if fits and layout not in seen and role_of(layout, symmetry=spec.symmetry) == spec.name:
            seen.add(layout)
            misses = 0
            yield layout
        else:
            misses += 1
