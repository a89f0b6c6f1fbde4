"""PPO of Stable-Baselines3 learns the smallest mazes."""

import importlib.util
from pathlib import Path

import pytest

pytest.importorskip("stable_baselines3", reason="needs stable-baselines3: run tests/adapters/run sb3")
from stable_baselines3.common.env_checker import check_env

pytestmark = [pytest.mark.adapters, pytest.mark.filterwarnings("default")]


@pytest.fixture(scope="module")
def example():
    path = Path(__file__).parents[2] / "examples" / "ppo_grid.py"
    spec = importlib.util.spec_from_file_location("ppo_grid", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_environment_passes_the_checker_of_stable_baselines(example):
    check_env(example.make())


def test_ppo_learns_what_a_fresh_network_cannot_do(example):
    model = example.make_model(seed=0)
    assert example.solved(model) <= 4
    assert example.solved(model.learn(60_000)) >= 12
