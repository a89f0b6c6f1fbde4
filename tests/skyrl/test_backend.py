"""Which backend a machine gets, above all a head of a Ray cluster, which has no GPU of its own."""

from types import SimpleNamespace

import pytest

from visgym_maze_skyrl import backend
from visgym_maze_skyrl.recipe import RecipeError

pytestmark = pytest.mark.train


@pytest.fixture
def machine(monkeypatch):
    def set_up(gpus, vllm, ray):
        monkeypatch.setattr(backend, "gpu_count", lambda: gpus)
        monkeypatch.setattr(
            backend.importlib.util, "find_spec", lambda name: SimpleNamespace() if vllm else None
        )
        monkeypatch.delenv("RAY_ADDRESS", raising=False)
        if ray:
            monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")

    return set_up


@pytest.mark.parametrize("wanted", ["auto", "skyrl"])
def test_a_head_without_gpus_trains_on_its_cluster(machine, wanted):
    machine(gpus=0, vllm=True, ray=True)
    assert backend.choose_backend(wanted, gpus=2)[0] == "skyrl"


@pytest.mark.parametrize(
    ("here", "wanted", "gpus", "chosen"),
    [
        ({"gpus": 1, "vllm": True, "ray": False}, "auto", 0, "skyrl"),
        ({"gpus": 1, "vllm": False, "ray": False}, "auto", 0, "local"),
        ({"gpus": 0, "vllm": True, "ray": False}, "auto", 0, "local"),
        # A recipe that asks for no GPU needs no cluster either.
        ({"gpus": 0, "vllm": True, "ray": True}, "auto", 0, "local"),
        ({"gpus": 1, "vllm": True, "ray": True}, "local", 1, "local"),
    ],
)
def test_the_backend_follows_from_what_is_there(machine, here, wanted, gpus, chosen):
    machine(**here)
    assert backend.choose_backend(wanted, gpus=gpus)[0] == chosen


@pytest.mark.parametrize(
    ("here", "wanted", "gpus", "message"),
    [
        ({"gpus": 0, "vllm": True, "ray": False}, "skyrl", 2, "needs an NVIDIA GPU"),
        ({"gpus": 0, "vllm": False, "ray": True}, "skyrl", 2, "needs vLLM"),
        ({"gpus": 0, "vllm": True, "ray": False}, "auto", 2, "asks for gpus=2"),
    ],
)
def test_a_recipe_that_cannot_run_here_is_refused(machine, here, wanted, gpus, message):
    machine(**here)
    with pytest.raises(RecipeError, match=message):
        backend.choose_backend(wanted, gpus=gpus)
