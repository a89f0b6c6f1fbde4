"""Nothing that is loaded runs code of its own: models, checkpoints, and what SkyRL would do with them."""

from __future__ import annotations

import dataclasses
import json
import shutil

import pytest
import torch

from visgym_maze_skyrl.recipe import RecipeError
from visgym_maze_skyrl.train import train
from visgym_maze_skyrl.trust import check_checkpoint, check_model

pytestmark = pytest.mark.train


class Bomb:
    """Writes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


@pytest.fixture
def model(model_folder, tmp_path):
    """A model whose folder brings a class of its own, which leaves a mark when it is imported."""
    folder = tmp_path / "model"
    shutil.copytree(model_folder, folder)
    (folder / "mine.py").write_text(f"open({str(tmp_path / 'mark')!r}, 'w')\nclass Mine: pass\n")
    return folder


@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json", "processor_config.json"])
def test_a_model_with_code_of_its_own_is_refused_unless_it_is_trusted(smoke, model, tmp_path, name):
    path = model / name
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "auto_map": {"AutoConfig": "mine.Mine"}}))
    run = dataclasses.replace(smoke, model=str(model), output=str(tmp_path / "run"))
    with pytest.raises(RecipeError, match=rf"{name} has an auto_map.*trust_remote_code=true"):
        train(run)
    assert not (tmp_path / "mark").exists()
    check_model(str(model), allowed=True)


def test_a_model_without_code_is_taken(model_folder):
    check_model(str(model_folder), allowed=False)


def test_a_checkpoint_with_code_is_refused_and_not_run(smoke, tmp_path):
    run = dataclasses.replace(smoke, output=str(tmp_path / "run"), steps=2, checkpoint_every=1, eval_every=9)
    train(dataclasses.replace(run, steps=1))
    checkpoint = tmp_path / "run" / "checkpoints" / "global_step_1"
    check_checkpoint(checkpoint)
    for name in ("trainer_state.pt", "policy/extra_state_world_size_1_rank_0.pt"):
        kept = (checkpoint / name).read_bytes()
        torch.save({"global_step": Bomb(tmp_path / "mark")}, checkpoint / name)
        with pytest.raises(RecipeError, match=r"would run code when it is loaded \(.*open\)"):
            train(run, resume=True)
        assert not (tmp_path / "mark").exists()
        (checkpoint / name).write_bytes(kept)
    assert train(run, resume=True)["steps_done"] == 2
