"""Is a merged adapter what PEFT computes, and does it come off without a trace?"""

from __future__ import annotations

import json

import peft
import pytest
import torch

from visgym_maze_skyrl.local.adapters import AdapterSlot

pytestmark = pytest.mark.train


def save_adapter(model, folder, seed, **options):
    wrapped = peft.get_peft_model(model, peft.LoraConfig(r=4, lora_alpha=12, **options))
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, parameter in wrapped.named_parameters():
            if "lora_B" in name:
                parameter.normal_(std=0.1)
    wrapped.save_pretrained(folder)
    return wrapped.eval()


@pytest.mark.parametrize(
    "options",
    [
        {"target_modules": ["q_proj", "v_proj", "down_proj"]},
        {"target_modules": "all-linear", "use_rslora": True},
    ],
    ids=["text", "all-linear"],
)
def test_merged_logits_equal_those_of_peft(load, stock_logits, openings, tmp_path, options):
    wrapped = save_adapter(load(), tmp_path, 1, **options)
    model = load()
    plain = stock_logits(model, *openings[0])
    AdapterSlot(model).load(tmp_path)
    expected = stock_logits(wrapped.get_base_model(), *openings[0])
    torch.testing.assert_close(stock_logits(model, *openings[0]), expected, atol=1e-4, rtol=1e-4)
    assert (expected - plain).abs().max() > 0.1


def test_the_next_adapter_replaces_the_last(load, tmp_path):
    save_adapter(load(), tmp_path / "one", 1, target_modules=["q_proj"])
    save_adapter(load(), tmp_path / "two", 2, target_modules=["v_proj"])
    model, direct = load(), load()
    slot = AdapterSlot(model)
    for name in ("one", "two"):
        slot.load(tmp_path / name)
    AdapterSlot(direct).load(tmp_path / "two")
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), direct.parameters(), strict=True))
    slot.unload()
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), load().parameters(), strict=True))


def test_an_engine_forgets_what_the_old_weights_saw(engine, load, openings, tmp_path):
    from visgym_maze_skyrl.local.engine import Request

    ids, pictures = openings[0]
    asked = Request("a", ids, pictures, 1, 0.0)
    before = engine.generate([asked])[0].logprobs
    save_adapter(load(), tmp_path, 1, target_modules="all-linear")
    engine.load_adapter(tmp_path)
    changed = engine.generate([asked])[0].logprobs
    engine.load_weights(load().state_dict())
    assert engine.generate([asked])[0].logprobs == before
    assert changed != before
    with pytest.raises(RuntimeError, match="no weight 'nothing'"):
        engine.load_weights({"nothing": torch.zeros(1)})


def test_adapters_that_cannot_be_merged_are_refused(load, tmp_path):
    save_adapter(load(), tmp_path, 1, target_modules=["q_proj"])
    path = tmp_path / "adapter_config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps({**config, "use_dora": True}))
    with pytest.raises(ValueError, match="this one uses use_dora"):
        AdapterSlot(load()).load(tmp_path)
    path.write_text(json.dumps(config))
    with pytest.raises(ValueError, match="fits none of this model"):
        AdapterSlot(torch.nn.Linear(2, 2)).load(tmp_path)
