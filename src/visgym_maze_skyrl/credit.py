"""Which turn of a rollout earned its reward? Advantages of single turns, within a GRPO group.

The advantage of GRPO is the same for all turns of a rollout. Rollouts of a group play one maze, so they pass
through the same cells; what followed from there can be compared turn by turn. This is the step-level part of
GiGPO (Feng et al. 2025, "Group-in-Group Policy Optimization for LLM Agent Training", arXiv:2505.10978).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import torch

from visgym_maze.dialogue.trajectory import Trajectory
from visgym_maze.world.layout import Cell

_EPSILON = 1e-6


def returns_from_turns(trajectory: Trajectory, discount: float) -> list[float]:
    """What each turn and those after it earned; a reward ``k`` turns later counts ``discount ** k``."""
    returns: list[float] = []
    following = 0.0
    for turn in reversed(trajectory.turns):
        following = turn.reward + discount * following
        returns.append(following)
    return returns[::-1]


def turn_advantages(group: Sequence[Trajectory | None], discount: float) -> list[list[float]]:
    """Advantage of every turn over the group's other turns that began in the same cell.

    Args:
        group: Rollouts of one maze; None for one that was lost.
        discount: Discount per turn, above 0 and at most 1.

    Returns:
        For each rollout a number per turn: its return, less the mean of its cell and over the standard
        deviation there. 0 where no other turn began, or where all returns are the same.
    """
    result: list[list[float]] = [[0.0] * len(t.turns) if t else [] for t in group]
    met: dict[Cell, list[tuple[int, int, float]]] = defaultdict(list)
    for i, trajectory in enumerate(group):
        if trajectory is None:
            continue
        cell = trajectory.layout.start
        for j, value in enumerate(returns_from_turns(trajectory, discount)):
            met[cell].append((i, j, value))
            cell = trajectory.turns[j].cell
    for turns in met.values():
        if len(turns) > 1:
            values = torch.tensor([value for _, _, value in turns])
            scaled = (values - values.mean()) / (values.std() + _EPSILON)
            for (i, j, _), advantage in zip(turns, scaled.tolist(), strict=True):
                result[i][j] = advantage
    return result


def turns_of_groups(
    played: Sequence[Trajectory | None], groups: Sequence[str], discount: float
) -> list[list[float]]:
    """:func:`turn_advantages` of every group.

    Args:
        played: The rollouts of all groups.
        groups: For each rollout the name of its group; may go on with those of rows that only pad a batch.
        discount: Discount per turn.

    Returns:
        For each rollout a number per turn.
    """
    members: dict[str, list[int]] = defaultdict(list)
    for i, group in enumerate(groups[: len(played)]):
        members[group].append(i)
    result: list[list[float]] = [[] for _ in played]
    for rows in members.values():
        for i, values in zip(rows, turn_advantages([played[i] for i in rows], discount), strict=True):
            result[i] = values
    return result


def over_tokens(advantages: Sequence[Sequence[float]], mask: torch.Tensor) -> torch.Tensor:
    """Give every sampled token the number of its turn.

    Args:
        advantages: Per rollout a number per turn; an empty one gives zeros.
        mask: ``(batch, tokens)``, 1 where a token was sampled; a turn is a run of ones. May have more rows,
            which get zeros.

    Returns:
        ``(batch, tokens)``, float32.

    Raises:
        ValueError: If a row has another number of turns than its rollout.
    """
    sampled = mask > 0
    starts = sampled & ~torch.nn.functional.pad(sampled, (1, 0))[:, :-1]
    number = starts.cumsum(dim=1)
    result = torch.zeros(mask.shape, dtype=torch.float32)
    for i, values in enumerate(advantages):
        if not values:
            continue
        turns = int(number[i, -1])
        if turns != len(values):
            raise ValueError(
                f"rollout {i} has {len(values)} turns, but the tokens of {turns}: the rows of the batch are "
                "not those that were sampled (leave out dynamic sampling, or set turn_credit=0)"
            )
        result[i] = torch.tensor([0.0, *values])[number[i]] * sampled[i]
    return result
