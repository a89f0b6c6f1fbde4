"""Does supervised fine-tuning learn, and does it say how a checkpoint was made?"""

from __future__ import annotations

import json

import pytest
import torch
from transformers import AutoModelForImageTextToText

from visgym_maze import Split
from visgym_maze_skyrl.local.policy import ModelPolicy
from visgym_maze_skyrl.warmstart import PLAY, Settings, WarmStart, answer_loss, main

pytestmark = pytest.mark.train
SMALL = Settings(size="xxs", demonstrations=2, steps=40, tokens=256, held_out=2)


def test_the_loss_falls_and_is_that_of_the_answers_alone(tmp_path):
    warm = WarmStart(tmp_path / "a", SMALL)
    losses = [warm.step(number) for number in range(SMALL.steps)]
    assert losses[0] > 5.0
    assert sum(losses[-5:]) / 5 < 0.65 * losses[0]
    again = WarmStart(tmp_path / "b", SMALL)
    assert [again.step(number) for number in range(3)] == losses[:3]


def test_the_loss_equals_that_of_the_stock_model(model, codec, tmp_path):
    warm = WarmStart(tmp_path / "a", SMALL)
    (lesson, _) = warm.lessons
    loss = answer_loss(warm.model.eval(), [lesson], codec.end_id)
    ids = [t for i, turn in enumerate(lesson) for t in (turn.following if i else turn.opening) + turn.answer]
    labels = [
        t
        for i, turn in enumerate(lesson)
        for t in [-100] * len(turn.following if i else turn.opening) + turn.answer
    ]
    tokens = torch.tensor([ids])
    stock = warm.model(
        input_ids=tokens,
        labels=torch.tensor([labels]),
        mm_token_type_ids=(tokens == warm.model.config.image_token_id).int(),
        pixel_values=torch.cat([p.pixel_values for turn in lesson for p in turn.pictures]),
        image_grid_thw=torch.cat([p.grid_thw for turn in lesson for p in turn.pictures]),
    )
    torch.testing.assert_close(loss, stock.loss, atol=1e-5, rtol=1e-5)


def test_transcripts_grow_and_the_rate_falls():
    settings = Settings(steps=100)
    assert [settings.answers_at(step) for step in (0, 39, 40, 59, 60, 99)] == [1, 1, 4, 4, 15, 15]
    rates = [settings.rate_at(step) for step in range(100)]
    assert max(rates) <= settings.learning_rate
    assert rates[0] < rates[20] > rates[99] > 0


def test_the_command_leaves_a_model_and_its_record(tmp_path, capsys):
    folder = tmp_path / "made"
    command = ["--size=xxs", "--demonstrations=2", "--steps=2", "--tokens=64", "--held-out=2", "--seed=5"]
    assert main(["--out", str(folder), *command]) == 0
    record = json.loads((folder / "warmstart.json").read_text())
    assert record["settings"]["seed"] == 5
    assert [entry["step"] for entry in record["curve"]] == [2]
    assert record["train_split"] == Split.make("train", 7, 2, 5, max_moves=14).key
    assert "--seed 5" in record["command"]
    saved = AutoModelForImageTextToText.from_pretrained(folder, dtype="auto")
    assert saved.dtype == torch.bfloat16
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ModelPolicy, "load", lambda *_, **__: pytest.fail("loaded"))
        assert main(["--out", str(folder), *command]) == 2
    assert "not empty" in capsys.readouterr().err


def test_a_loaded_policy_plays(folder):
    from visgym_maze import evaluate

    levels = Split.make("train", 7, 2, max_moves=14)
    one, two = (evaluate(ModelPolicy.load(folder, seed=1), levels, **PLAY)[1] for _ in range(2))
    assert [t.to_dict() for t in one] == [t.to_dict() for t in two]


def test_bad_settings_are_refused(tmp_path, capsys):
    assert main(["--out", str(tmp_path / "x"), "--size", "xxl"]) == 2
    assert "unknown size 'xxl'" in capsys.readouterr().err
    assert main(["--out", str(tmp_path / "x"), "--steps", "0"]) == 2
    assert "steps must be at least 1, got 0" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()
