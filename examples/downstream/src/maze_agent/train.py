"""GRPO in a few lines of numpy: groups of one maze each, advantages within the group."""

from __future__ import annotations

import numpy as np

from maze_agent.policy import FEATURES, LinearPolicy
from visgym_maze import GroupSampler, RewardSpec, Split, evaluate, moves_within


def train(policy: LinearPolicy, steps: int = 60, learning_rate: float = 4.0) -> None:
    """Play groups and follow the gradient of their advantages."""
    mazes = Split.make("train", size=7, n=128, max_moves=moves_within(15))
    groups = GroupSampler(mazes, group_size=8, seed=0)
    reward = RewardSpec(progress=0.5)
    for _ in range(steps):
        update = np.zeros_like(policy.weights)
        for group in groups.take(8):
            dialogues = group.dialogues(reward=reward)
            policy.gradients.clear()
            for dialogue in dialogues:
                dialogue.reset()
            while waiting := [dialogue for dialogue in dialogues if not dialogue.done]:
                for dialogue, answer in zip(waiting, policy.act(waiting), strict=True):
                    dialogue.step(answer)
            rewards = np.array([dialogue.trajectory().total_reward for dialogue in dialogues])
            advantages = (rewards - rewards.mean()) / (rewards.std() + 1e-6)
            update += sum(a * policy.gradients[id(d)] for a, d in zip(advantages, dialogues, strict=True))
        policy.weights += learning_rate * update / 64


def main() -> None:
    """Train, and print the score on held-out mazes before and after."""
    policy = LinearPolicy(seed=0)
    held_out = Split.make("eval", size=7, n=64, max_moves=moves_within(15))
    print("before:", evaluate(policy, held_out)[0].headline())
    train(policy)
    print("after: ", evaluate(policy, held_out)[0].headline())
    for name, weight in zip(FEATURES, policy.weights, strict=True):
        print(f"{weight:7.2f}  {name}")


if __name__ == "__main__":
    main()
