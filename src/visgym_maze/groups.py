"""Which mazes are played together? Groups of rollouts that all share one maze.

GRPO compares the rollouts of a group with each other, so all of them must face the same maze. Here
a group *is* one layout; its members are made from it and from nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np

from visgym_maze.dialogue.episode import MazeDialogue
from visgym_maze.world.layout import Layout
from visgym_maze.world.seeding import check_seed
from visgym_maze.world.splits import levels_key


@dataclass(frozen=True)
class Group:
    """Rollouts of one maze.

    Attributes:
        index: Number of the group in its sampler's sequence.
        layout: The maze that every member plays.
        size: Number of members.
    """

    index: int
    layout: Layout
    size: int

    def dialogues(self, **options: Any) -> list[MazeDialogue]:
        """A fresh episode for every member; ``options`` as for :class:`MazeDialogue`."""
        return [MazeDialogue(self.layout, **options) for _ in range(self.size)]


class GroupSampler:
    """An endless sequence of groups over the mazes of a split.

    Every epoch goes through all mazes once, in an order of its own that depends on the seed and the
    number of the epoch alone. So a sampler that is restored from :meth:`state_dict` continues exactly
    where the other stopped.

    Args:
        levels: The mazes, for example a :class:`~visgym_maze.world.splits.Split`.
        group_size: Members of a group, at least 1.
        seed: Decides the order.
        shuffle: Whether to change the order of the mazes; without, it is that of ``levels``.

    Raises:
        ValueError: If there are no mazes or the group size is below 1.
    """

    def __init__(
        self, levels: Sequence[Layout], group_size: int = 8, *, seed: int = 0, shuffle: bool = True
    ) -> None:
        self.levels = tuple(levels)
        if not self.levels:
            raise ValueError("a sampler needs at least one maze")
        self.group_size = index(group_size)
        if self.group_size < 1:
            raise ValueError(f"group_size must be at least 1, got {group_size}")
        self.seed = check_seed(seed)
        self.shuffle = shuffle
        self._next = 0
        self._epoch = -1
        self._order: tuple[int, ...] = ()

    def __iter__(self) -> Iterator[Group]:
        return self

    def __next__(self) -> Group:
        number = self._next
        self._next += 1
        epoch, position = divmod(number, len(self.levels))
        if epoch != self._epoch:
            self._epoch, self._order = epoch, self._order_of(epoch)
        return Group(number, self.levels[self._order[position]], self.group_size)

    def take(self, count: int) -> list[Group]:
        """The next ``count`` groups."""
        return [next(self) for _ in range(count)]

    def take_distinct(self, count: int) -> list[Group]:
        """The next ``count`` groups, all of different mazes.

        If fewer mazes than that are left in the epoch, they are passed over and the next epoch begins.

        Raises:
            ValueError: If there are fewer than ``count`` mazes at all.
        """
        total = len(self.levels)
        if count > total:
            raise ValueError(f"asked for {count} different mazes, there are {total}")
        if total - self._next % total < count:
            self._next += total - self._next % total
        return self.take(count)

    def state_dict(self) -> dict[str, int | str]:
        """What :meth:`load_state_dict` needs to continue the sequence; JSON-ready."""
        order = {"seed": self.seed, "levels": len(self.levels), "shuffle": int(self.shuffle)}
        return {"next": self._next, **order, "levels_key": levels_key(self.levels)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue the sequence of another sampler over the same mazes.

        Raises:
            ValueError: If that sampler had another seed or other mazes, or shuffled where this one
                doesn't.
        """
        mine = self.state_dict()
        different = [name for name in mine if name != "next" and state.get(name) != mine[name]]
        if different:
            name = different[0]
            raise ValueError(
                f"this state is of a sampler with {name} {state.get(name)}, this one has {name} {mine[name]}"
            )
        if state["next"] < 0:
            raise ValueError(f"a sampler can't continue from position {state['next']}")
        self._next, self._epoch = state["next"], -1

    def _order_of(self, epoch: int) -> tuple[int, ...]:
        if not self.shuffle:
            return tuple(range(len(self.levels)))
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(epoch,)))
        return tuple(int(i) for i in rng.permutation(len(self.levels)))
