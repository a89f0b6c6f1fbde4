"""A tiny random model, an engine over it, and a client as the local backend makes them."""

import dataclasses

import pytest

from visgym_maze_skyrl.recipe import RECIPES


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory):
    """A random Qwen3-VL of the smallest size; it solves nothing and ends no episode early."""
    from visgym_maze_skyrl.local.tiny import build_tiny

    folder = tmp_path_factory.mktemp("tiny")
    build_tiny(folder, size="xs", seed=0)
    return folder


@pytest.fixture(scope="session")
def smoke(model_folder):
    """The smoke recipe over the random model, small enough for a test."""
    return dataclasses.replace(
        RECIPES["smoke"], model=str(model_folder), max_turns=9, max_new_tokens=5, eval_levels=4, threads=1
    )
