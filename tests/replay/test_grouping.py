"""Advantages as GRPO computes them."""

import dataclasses

import numpy as np
import pytest

from visgym_maze.replay import advantages, group_of


def paid(trajectory, reward):
    turns = tuple(turn._replace(reward=0.0) for turn in trajectory.turns)
    return dataclasses.replace(trajectory, turns=(*turns[:-1], turns[-1]._replace(reward=reward)))


@pytest.fixture
def mixed(wandering):
    rewards = (1.0, 0.25, 0.0, 0.0, -0.5, 0.5, 0.5, 0.5)
    return [paid(t, reward) for t, reward in zip(wandering, rewards, strict=True)]


def test_they_are_zero_on_average_and_of_unit_spread_in_every_group(mixed):
    found = advantages(mixed)
    for group in (found[:4], found[4:]):
        assert np.mean(group) == pytest.approx(0.0, abs=1e-9)
        assert np.std(group, ddof=1) == pytest.approx(1.0, abs=1e-4)


def test_the_order_of_episodes_does_not_matter(mixed):
    assert advantages(mixed[::-1]) == pytest.approx(advantages(mixed)[::-1])


def test_equal_rewards_give_none_of_them_an_advantage(mixed):
    assert advantages([paid(t, 1.0) for t in mixed]) == [0.0] * len(mixed)


def test_an_episode_alone_has_nobody_to_be_compared_with(solved):
    assert advantages(solved) == [None] * len(solved)


def test_one_number_for_two_mazes_is_two_groups(mixed):
    moved = [dataclasses.replace(t, group=0) for t in mixed]
    assert len({group_of(t) for t in moved}) == 2
    assert advantages(moved) == advantages(mixed)


@pytest.mark.train
def test_they_are_those_of_the_trainer(mixed):
    torch = pytest.importorskip("torch")
    estimator = pytest.importorskip(
        "skyrl.backends.skyrl_train.utils.ppo_utils"
    ).compute_grpo_outcome_advantage
    rewards = torch.tensor([[t.total_reward] for t in mixed])
    groups = np.array([t.group for t in mixed])
    expected, _ = estimator(rewards, torch.ones_like(rewards), groups)
    assert advantages(mixed) == pytest.approx(expected[:, 0].tolist(), abs=1e-5)
