"""Which mazes come first? Difficulty bins, and a sampler that opens them one after the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from visgym_maze.groups import Group
from visgym_maze.world.layout import Layout
from visgym_maze.world.seeding import check_seed, child_generator
from visgym_maze.world.solver import solve


class Difficulty(NamedTuple):
    """How hard a maze is; compares by path length, then by junctions.

    Attributes:
        moves: Length of the shortest path.
        junctions: Cells with three or more ways out, where one can go wrong.
    """

    moves: int
    junctions: int

    @classmethod
    def of(cls, layout: Layout) -> Difficulty:
        """The difficulty of one maze."""
        floor = ~layout.grid
        inner = floor[1:-1, 1:-1].astype(int)
        ways = floor[:-2, 1:-1].astype(int) + floor[2:, 1:-1] + floor[1:-1, :-2] + floor[1:-1, 2:]
        return cls(solve(layout).moves, int((inner * (ways >= 3)).sum()))


def difficulty_bins(levels: Sequence[Layout], count: int) -> tuple[tuple[Layout, ...], ...]:
    """Sort mazes by difficulty and cut them into ``count`` bins of equal size (give or take one).

    Raises:
        ValueError: If ``count`` is below 1 or there are fewer mazes than bins.
    """
    if not 1 <= count <= len(levels):
        raise ValueError(f"{len(levels)} mazes can be put into 1 to {len(levels)} bins, got {count}")
    # The key breaks ties, so the bins do not depend on the order of the levels.
    ranked = sorted(levels, key=lambda layout: (Difficulty.of(layout), layout.key))
    cuts = [len(ranked) * i // count for i in range(count + 1)]
    return tuple(tuple(ranked[a:b]) for a, b in pairwise(cuts))


class CurriculumSampler:
    """An endless sequence of groups that begins with the easiest mazes.

    Each group picks one of the open bins and one of its mazes, uniformly. Once the last ``window`` groups
    of the hardest open bin have succeeded often enough, the next bin is opened.

    Args:
        levels: The mazes, for example a :class:`~visgym_maze.world.splits.Split`.
        group_size: Members of a group, at least 1.
        bins: Number of difficulty bins.
        seed: Decides what is picked.
        threshold: Mean share of successes, over 0 and up to 1, that opens the next bin.
        window: Over how many groups that mean is taken.

    Raises:
        ValueError: If a number is out of its range.
    """

    def __init__(
        self,
        levels: Sequence[Layout],
        group_size: int = 8,
        *,
        bins: int = 4,
        seed: int = 0,
        threshold: float = 0.7,
        window: int = 16,
    ) -> None:
        if group_size < 1 or window < 1:
            raise ValueError(f"group_size and window must be at least 1, got {group_size} and {window}")
        if not 0.0 < threshold <= 1.0:
            raise ValueError(f"threshold is a share over 0 and up to 1, got {threshold}")
        self.bins = difficulty_bins(levels, bins)
        self.group_size = group_size
        self.seed = check_seed(seed)
        self.threshold = threshold
        self.opened = 1
        self._bin_of = {layout: index for index, layouts in enumerate(self.bins) for layout in layouts}
        self._recent: deque[float] = deque(maxlen=window)
        self._next = 0

    def __iter__(self) -> Iterator[Group]:
        return self

    def __next__(self) -> Group:
        index = self._next
        self._next += 1
        rng = child_generator(self.seed, index)
        layouts = self.bins[int(rng.integers(self.opened))]
        return Group(index, layouts[int(rng.integers(len(layouts)))], self.group_size)

    def take(self, count: int) -> list[Group]:
        """The next ``count`` groups."""
        return [next(self) for _ in range(count)]

    def record(self, group: Group, successes: int) -> None:
        """Say how many members of a group succeeded; groups of easier bins change nothing.

        Raises:
            ValueError: If the group is none of this sampler's, or has fewer members than that.
        """
        if group.layout not in self._bin_of:
            raise ValueError(f"{group.layout!r} is none of this sampler's mazes")
        if not 0 <= successes <= group.size:
            raise ValueError(f"{successes} successes in a group of {group.size}")
        if self._bin_of[group.layout] != self.opened - 1:
            return
        self._recent.append(successes / group.size)
        full = len(self._recent) == self._recent.maxlen
        if full and self.opened < len(self.bins) and sum(self._recent) / len(self._recent) >= self.threshold:
            self.opened += 1
            self._recent.clear()

    def state_dict(self) -> dict[str, Any]:
        """What :meth:`load_state_dict` needs to continue; JSON-ready."""
        return {
            "next": self._next,
            "opened": self.opened,
            "recent": list(self._recent),
            "seed": self.seed,
            "bins": [len(layouts) for layouts in self.bins],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue the sequence of another sampler over the same mazes.

        Raises:
            ValueError: If that sampler had another seed or other bins.
        """
        mine = self.state_dict()
        for name in ("seed", "bins"):
            if state[name] != mine[name]:
                raise ValueError(
                    f"this state is of a sampler with {name} {state[name]}, this one has {mine[name]}"
                )
        self._next, self.opened = state["next"], state["opened"]
        self._recent.clear()
        self._recent.extend(state["recent"])
