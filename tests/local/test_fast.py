"""Is the faster model the same function, forwards and backwards?"""

from __future__ import annotations

import copy

import peft
import pytest
import torch

from visgym_maze_skyrl.local.fast import speed_up

pytestmark = pytest.mark.train


def outputs_and_gradients(model, pictures):
    model.zero_grad()
    pixels = torch.cat([p.pixel_values for p in pictures])
    visual = next(m for name, m in model.named_modules() if name.endswith("visual"))
    output = visual(pixels, grid_thw=torch.cat([p.grid_thw for p in pictures]))
    (output.pooler_output.square().sum() + output.deepstack_features[0].sum()).backward()
    gradients = {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}
    return output.pooler_output.detach(), gradients


@pytest.mark.parametrize("which", [slice(0, 3), slice(2, 4), slice(3, 4)], ids=["equal", "mixed", "one"])
@pytest.mark.parametrize("adapted", [False, True])
def test_outputs_and_gradients_stay(load, openings, which, adapted):
    stock = load()
    if adapted:
        stock = peft.get_peft_model(stock, peft.LoraConfig(r=2, target_modules=["qkv", "linear_fc1"]))
    fast = copy.deepcopy(stock)
    assert speed_up(fast) == 3
    assert speed_up(fast) == 0
    assert list(fast.state_dict()) == list(stock.state_dict())
    pictures = [picture for _, shown in openings[which] for picture in shown]
    expected, gradients = outputs_and_gradients(stock, pictures)
    found, faster = outputs_and_gradients(fast, pictures)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    assert gradients
    assert faster.keys() == gradients.keys()
    for name, gradient in gradients.items():
        assert (faster[name] - gradient).abs().max() <= 1e-5 * max(1.0, float(gradient.abs().max()))


def logprobs_and_gradients(model, batch, real):
    model.zero_grad()
    logprobs = model(**batch).logits.log_softmax(dim=-1)
    logprobs[real].square().mean().backward()
    gradients = {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}
    return logprobs[real].detach(), gradients


@pytest.mark.parametrize("side", ["right", "left", "both"])
def test_real_tokens_stay_whatever_side_the_padding_is_on(load, openings, side):
    ids, shown = openings[0]
    before, after = {"right": (0, 7), "left": (7, 0), "both": (3, 4)}[side]
    row = torch.tensor([ids[:1] * before + ids + ids[:1] * after, ids + ids[:1] * 7])
    mask = torch.ones_like(row)
    mask[0, :before] = 0
    mask[0, len(ids) + before :] = 0
    image = load().config.image_token_id
    pictures = [*shown, *shown]
    batch = {
        "input_ids": row,
        "attention_mask": mask,
        "pixel_values": torch.cat([p.pixel_values for p in pictures]),
        "image_grid_thw": torch.cat([p.grid_thw for p in pictures]),
        "mm_token_type_ids": (row == image).long(),
    }
    stock, fast = load(), load()
    speed_up(fast)
    expected, gradients = logprobs_and_gradients(stock, batch, mask.bool())
    found, faster = logprobs_and_gradients(fast, batch, mask.bool())
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
    for name, gradient in gradients.items():
        assert (faster[name] - gradient).abs().max() <= 1e-4 * max(1.0, float(gradient.abs().max()))
