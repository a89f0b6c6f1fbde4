"""What of the GPU backend can be checked without a GPU: settings, masks, and how pictures are sent."""

import asyncio
import dataclasses

import pytest
import torch
from transformers import AutoModelForImageTextToText, AutoTokenizer

from visgym_maze_skyrl.assets import tiny_model_folder
from visgym_maze_skyrl.config import TEXT_PROJECTIONS, skyrl_config
from visgym_maze_skyrl.dataset import MazeDataset, train_dataset
from visgym_maze_skyrl.local.experiment import LocalExperiment
from visgym_maze_skyrl.local.sampling import FORBIDDEN
from visgym_maze_skyrl.masking import forbid, sampling_arguments
from visgym_maze_skyrl.recipe import RECIPES

pytestmark = pytest.mark.train


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_skyrl_accepts_every_recipe_for_gpus(name, tmp_path):
    recipe = dataclasses.replace(RECIPES[name], gpus=2)
    cfg = skyrl_config(recipe, tmp_path, str(tiny_model_folder()), [], local=False, resume=False)
    assert cfg.generator.inference_engine.num_engines == cfg.trainer.placement.policy_num_gpus_per_node == 2
    assert list(cfg.trainer.policy.model.lora.target_modules) == TEXT_PROJECTIONS
    engine = cfg.generator.inference_engine.engine_init_kwargs
    assert engine["max_model_len"] > recipe.max_context + recipe.max_new_tokens
    assert engine["limit_mm_per_prompt"]["image"] > recipe.max_turns


def test_a_setting_that_skyrl_refuses_is_named(tmp_path):
    with pytest.raises(ValueError, match="SkyRL refuses these settings"):
        skyrl_config(
            RECIPES["tiny"], tmp_path, "model", ["trainer.policy.model.lora.rnk=3"], local=False, resume=False
        )


def test_the_trainer_gives_no_probability_to_what_the_engine_excludes():
    tokenizer = AutoTokenizer.from_pretrained(tiny_model_folder())
    model = AutoModelForImageTextToText.from_pretrained(tiny_model_folder(), dtype=torch.float32)
    ids = torch.tensor([tokenizer.encode("Go to red.", add_special_tokens=False)])
    forbid(model, tokenizer)
    with torch.no_grad():
        logits = model(input_ids=ids).logits
    probabilities = logits.softmax(-1)
    allowed = sampling_arguments(tokenizer)["allowed_token_ids"]
    assert not {tokenizer.convert_tokens_to_ids(token) for token in FORBIDDEN} & set(allowed)
    assert probabilities[..., allowed].sum(-1) == pytest.approx(1.0)
    entropy = -(probabilities * logits.log_softmax(-1)).sum(-1)
    assert torch.isfinite(entropy).all()


def test_a_picture_is_sent_once_per_conversation(smoke, model_folder, tmp_path):
    cfg = skyrl_config(smoke, tmp_path, str(model_folder), [], local=True, resume=False)
    experiment = LocalExperiment(cfg, smoke, tmp_path)
    client = experiment.get_inference_client()
    generator = experiment.get_generator(cfg, experiment.tokenizer, client)
    generator.encode_picture = lambda picture: picture.key
    pictures, requests = {}, []
    original = client.generate

    async def engine_with_a_cache(request, model=None):
        features = request["mm_features"][0]
        sent = features["kwargs_data"]["image"]
        requests.append(sent)
        assert [h for h in sent if h is not None] == features["mm_hashes"]["image"][-1:]
        features["kwargs_data"] = {"image": [pictures[h] for h in features["mm_hashes"]["image"]]}
        return await original(request, model)

    original_place = generator._place

    def remember(tokens, new, offset):
        pictures.update({picture.key: picture for picture in new})
        original_place(tokens, new, offset)

    generator._place = remember
    client.generate = engine_with_a_cache
    rows = MazeDataset.collate_fn([train_dataset(smoke)[0]])
    made = {
        "prompts": [rows[0]["prompt"]],
        "env_classes": ["visgym_maze"],
        "env_extras": [rows[0]["env_extras"]],
        "sampling_params": {"max_tokens": 5, "temperature": 1.0, "logprobs": 1},
        "trajectory_ids": None,
        "batch_metadata": None,
    }
    asyncio.run(generator.generate(made))
    assert len(requests) == smoke.max_turns
    assert [sum(h is not None for h in sent) for sent in requests] == [1] * smoke.max_turns
