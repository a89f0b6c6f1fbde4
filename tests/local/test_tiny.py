"""Does the tiny model pass for a Qwen3-VL wherever stock software loads it?"""

from __future__ import annotations

import pytest
import torch
from transformers import (
    AutoModelForImageTextToText,
    AutoProcessor,
    AutoTokenizer,
    Qwen3VLForConditionalGeneration,
    Qwen3VLProcessor,
)

from visgym_maze import Action, MazeDialogue, Split, render, spell
from visgym_maze_skyrl.local.tiny import SIZES, SPECIAL_TOKENS, build_tiny, build_tokenizer

pytestmark = pytest.mark.train


def test_stock_classes_load_the_folder(folder, stock_logits, openings):
    loaded = AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32).eval()
    assert type(loaded) is Qwen3VLForConditionalGeneration
    assert type(AutoProcessor.from_pretrained(folder)) is Qwen3VLProcessor
    assert loaded.lm_head.weight is loaded.model.language_model.embed_tokens.weight
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert (tokenizer.eos_token, tokenizer.pad_token) == ("<|im_end|>", "<|endoftext|>")
    assert loaded.generation_config.eos_token_id == tokenizer.eos_token_id
    assert stock_logits(loaded, *openings[0]).isfinite().all()


def test_the_stock_processor_gives_the_same_inputs(folder, codec):
    layout = Split.make("train", 7, 1)[0]
    messages = MazeDialogue(layout, prompt="brief", style="patch16").reset()
    text, _ = messages[0]["content"]
    processor = AutoProcessor.from_pretrained(folder)
    chat = [{"role": "user", "content": [text, {"type": "image"}]}]
    prompt = processor.apply_chat_template(chat, add_generation_prompt=True)
    stock = processor(text=[prompt], images=[render(layout, layout.start, "patch16")], return_tensors="pt")
    ids, (picture,) = codec.first(messages)
    assert stock["input_ids"][0].tolist() == ids
    assert stock["image_grid_thw"].tolist() == [[1, 8, 8]]
    torch.testing.assert_close(stock["pixel_values"], picture.pixel_values, atol=1e-6, rtol=0)


def test_the_same_seed_gives_the_same_model(tmp_path):
    one, two, other = (
        build_tiny(tmp_path / name, "xxs", seed).state_dict() for name, seed in (("a", 7), ("b", 7), ("c", 8))
    )
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert not torch.equal(one["lm_head.weight"], other["lm_head.weight"])
    for name in ("tokenizer.json", "model.safetensors"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_an_answer_is_four_tokens_and_survives_decoding(tokenizer, codec):
    for action in Action:
        ids = codec.answer(spell(action))
        assert len(ids) == 4
        assert codec.text(ids) == spell(action)
    assert all(len(tokenizer.encode(token)) == 1 for token in SPECIAL_TOKENS)


def test_the_tokenizer_spells_any_text():
    tokenizer = build_tokenizer()
    text = "Ein Weg nach links? 道 🙂\n\t<tool_call>{}</tool_call>"
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_an_unknown_size_is_refused(tmp_path):
    with pytest.raises(ValueError, match="unknown size 'xxl'; known: xxs, xs"):
        build_tiny(tmp_path, "xxl")
    assert not list(tmp_path.iterdir())
    assert set(SIZES) == {"xxs", "xs", "s", "m", "l"}
