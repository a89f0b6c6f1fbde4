"""An engine that does not follow the adapters it is given stops the run before it starts."""

import dataclasses

import pytest
from safetensors.torch import load_file

from visgym_maze_skyrl.hot_load import HotLoadError, check_hot_load, newest_adapter
from visgym_maze_skyrl.local.client import LocalClient
from visgym_maze_skyrl.train import train

pytestmark = pytest.mark.train


def first_check(recipe, tmp_path, monkeypatch):
    """Train one step; what the check returned, and the adapter folder it was given."""
    seen = []

    async def check(client, tokenizer, folder, model):
        weights = load_file(folder / "adapter_model.safetensors")
        assert all(float(w.abs().max()) == 0.0 for name, w in weights.items() if ".lora_B." in name)
        seen.append(await check_hot_load(client, tokenizer, folder, model))

    monkeypatch.setattr("visgym_maze_skyrl.trainer.check_hot_load", check)
    train(dataclasses.replace(recipe, output=str(tmp_path / "run"), steps=1, eval_every=10))
    return seen


def test_the_engine_follows_adapters_and_is_asked_once(smoke, tmp_path, monkeypatch):
    moved = first_check(smoke, tmp_path, monkeypatch)
    assert len(moved) == 1
    assert moved[0] > 0.01
    assert not list((tmp_path / "run").rglob("hot_load_probe"))


@pytest.mark.parametrize(
    ("keeps", "message"), [(0, "would not follow the policy"), (1, "keeps an older adapter")]
)
def test_an_engine_that_ignores_an_adapter_stops_the_run(smoke, tmp_path, monkeypatch, keeps, message):
    load, count = LocalClient.load_lora_adapter, {"n": 0}

    async def says_ok(self, lora_name, lora_path):
        count["n"] += 1
        if count["n"] <= keeps:
            return await load(self, lora_name, lora_path)
        return {"lora_name": lora_name}

    monkeypatch.setattr(LocalClient, "load_lora_adapter", says_ok)
    with pytest.raises(HotLoadError, match=message):
        first_check(smoke, tmp_path, monkeypatch)


def test_the_newest_of_several_synced_adapters_is_taken(tmp_path):
    assert newest_adapter(tmp_path) == tmp_path
    for name in ("sync_000002", "sync_000010", "sync_000009"):
        (tmp_path / name).mkdir()
    assert newest_adapter(tmp_path).name == "sync_000010"
