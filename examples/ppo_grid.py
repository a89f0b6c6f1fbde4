"""Is the world learnable at all? PPO of Stable-Baselines3 on the grid of cells, without pictures or words.

    pip install 'visgym-maze[sb3]'
    python examples/ppo_grid.py

It learns 14 to 16 of the sixteen 5x5 mazes by heart (three seeds) in some seconds. That says that states,
actions and rewards fit together, and nothing about unseen mazes: there are none of that size.
"""

from __future__ import annotations

import argparse
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

from visgym_maze import MazeEnv, RewardSpec, Split

MAZES = Split.make("train", size=5, n=16)


class OneHotGrid(gymnasium.ObservationWrapper):
    """The four kinds of cell (wall, floor, goal, agent) as 0 and 1, in one float32 vector."""

    def __init__(self, env: MazeEnv) -> None:
        super().__init__(env)
        height, width = env.size
        self.observation_space = gymnasium.spaces.Box(0, 1, (4 * height * width,), np.float32)

    def observation(self, observation: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Encode one grid."""
        return (observation[..., None] == np.arange(4)).astype(np.float32).ravel()


def make() -> OneHotGrid:
    reward = RewardSpec(progress=0.5)
    return OneHotGrid(MazeEnv(5, levels=MAZES, goal_rule="reach", reward=reward, observe="grid"))


def make_model(seed: int = 0) -> PPO:
    return PPO(
        "MlpPolicy",
        make_vec_env(make, n_envs=16, seed=seed),
        n_steps=32,
        batch_size=128,
        n_epochs=4,
        learning_rate=1e-3,
        gamma=0.95,
        ent_coef=0.02,
        policy_kwargs={"net_arch": [128, 128]},
        seed=seed,
        device="cpu",
    )


def solved(model: PPO) -> int:
    """How many mazes the policy's best actions solve."""
    env, wins = make(), 0
    for layout in MAZES:
        observation, info = env.reset(options={"layout": layout})
        over = False
        while not over:
            action: Any = model.predict(observation, deterministic=True)[0]
            observation, _, terminated, truncated, info = env.step(action)
            over = terminated or truncated
        wins += info["success"]
    return wins


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--steps", type=int, default=60_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    model = make_model(arguments.seed)
    print(f"before: {solved(model)} of {len(MAZES)} mazes")
    print(f"after:  {solved(model.learn(arguments.steps))} of {len(MAZES)} mazes")
