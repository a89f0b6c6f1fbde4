"""The reusable checks pass on our environments and catch each fault that they are there for."""

import gymnasium
import numpy as np
import pytest

from visgym_maze import CONFIGURATIONS, GroupSampler, MazeDialogue, MazeEnv, Split, generate
from visgym_maze.testing import (
    ENV_CHECKS,
    check_copies,
    check_ends,
    check_groups,
    check_results_can_be_written_to,
    check_results_stay,
    check_seeding,
)


@pytest.mark.parametrize("check", ENV_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", sorted(CONFIGURATIONS))
def test_registered_environments_pass(name, check):
    check(lambda: gymnasium.make(name).unwrapped)


@pytest.mark.parametrize("check", ENV_CHECKS, ids=lambda check: check.__name__)
def test_grids_and_given_levels_pass(check):
    levels = Split.make("train", 7, 40).levels
    check(lambda: MazeEnv(7, levels=levels, observe="grid", solvable=False))


class IgnoresSeed(MazeEnv):
    def reset(self, *, seed=None, options=None):
        return super().reset(options=options)


class CutsSeed(MazeEnv):
    def reset(self, *, seed=None, options=None):
        return super().reset(seed=0, options=options)


class ReusesBuffer(MazeEnv):
    def _observation(self, layout):
        fresh = super()._observation(layout)
        self.buffer = getattr(self, "buffer", np.zeros_like(fresh))
        self.buffer[:] = fresh
        return self.buffer


class LendsState(MazeEnv):
    def _info(self, layout, **outcome):
        self.trace = getattr(self, "trace", np.zeros(3))
        if not self.turns:
            self.trace = np.ones(3)
        return {**super()._info(layout, **outcome), "trace": self.trace, "sum": float(self.trace.sum())}


class NeverOver(MazeEnv):
    def step(self, action):
        self._over = False
        return super().step(action)


class SharesCell(MazeEnv):
    def __deepcopy__(self, memo):
        return self


@pytest.mark.parametrize(
    ("broken", "check", "message"),
    [
        (IgnoresSeed, check_seeding, "seed 0 differ"),
        (CutsSeed, check_seeding, "only 1 different"),
        (ReusesBuffer, check_results_stay, "changed after"),
        (LendsState, check_results_stay, "share memory"),
        (LendsState, check_results_can_be_written_to, "writing to results"),
        (NeverOver, check_ends, "after the end"),
        (SharesCell, check_copies, "deepcopy"),
    ],
)
def test_each_check_catches_its_fault(broken, check, message):
    with pytest.raises(AssertionError, match=message):
        check(lambda: broken(observe="grid"))


def test_an_endless_environment_is_noticed():
    with pytest.raises(AssertionError, match="random actions ends"):
        check_ends(lambda: EndlessEnv(5, observe="cell", max_turns=10**6))


class EndlessEnv(MazeEnv):
    def step(self, action):
        return super().step(action % 4)


def test_groups_of_a_sampler_pass():
    groups = GroupSampler(Split.make("train", 9, 6), 4, seed=1).take(6)
    check_groups([group.dialogues() for group in groups])


def test_broken_groups_are_caught():
    mazes = [generate(9, rng=seed) for seed in range(2)]
    with pytest.raises(AssertionError, match="group 0 plays 2 different mazes"):
        check_groups([[MazeDialogue(maze) for maze in mazes]])
    with pytest.raises(AssertionError, match="2 groups play only 1"):
        check_groups([[MazeDialogue(mazes[0])], [MazeDialogue(mazes[0])]])
    one = MazeDialogue(mazes[0])
    with pytest.raises(AssertionError, match="moves another"):
        check_groups([[one, one]])
