"""What of the GPU backend can be checked without a GPU: settings, masks, and how pictures are sent."""

import asyncio
import dataclasses

import pytest
import torch
from skyrl.train.config import SkyRLTrainConfig
from skyrl.train.generators.utils import prepare_generator_input
from transformers import AutoModelForImageTextToText, AutoTokenizer

from visgym_maze_skyrl.assets import tiny_model_folder
from visgym_maze_skyrl.cluster import run
from visgym_maze_skyrl.config import OWNED, TEXT_PROJECTIONS, skyrl_config
from visgym_maze_skyrl.dataset import MazeDataset, train_dataset
from visgym_maze_skyrl.hyperpod_recipe import HYPERPOD, HYPERPOD_NAME
from visgym_maze_skyrl.local.experiment import LocalExperiment
from visgym_maze_skyrl.local.sampling import FORBIDDEN
from visgym_maze_skyrl.masking import forbid, sampling_arguments
from visgym_maze_skyrl.recipe import RECIPES, RecipeError, output_folder

pytestmark = pytest.mark.train


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_skyrl_accepts_every_recipe_for_gpus(name, tmp_path):
    recipe = dataclasses.replace(RECIPES[name], gpus=2)
    cfg = skyrl_config(recipe, tmp_path, str(tiny_model_folder()), [], local=False, resume=False)
    assert cfg.generator.inference_engine.num_engines == 2 * recipe.nodes
    assert cfg.trainer.placement.policy_num_gpus_per_node == 2
    assert list(cfg.trainer.policy.model.lora.target_modules) == TEXT_PROJECTIONS
    engine = cfg.generator.inference_engine.engine_init_kwargs
    assert engine["max_model_len"] > recipe.max_context + recipe.max_new_tokens
    assert engine["limit_mm_per_prompt"]["image"] > recipe.max_turns


def test_the_recipe_for_hyperpod_has_the_published_values():
    recipe = RECIPES[HYPERPOD_NAME]
    assert set(HYPERPOD) == {field.name for field in dataclasses.fields(recipe)} - {"name"}
    folder = output_folder(recipe)
    cfg = skyrl_config(recipe, folder, str(tiny_model_folder()), [], local=False, resume=True)
    assert cfg.trainer.placement.colocate_all
    placed = cfg.trainer.placement
    assert (placed.policy_num_nodes, placed.policy_num_gpus_per_node) == (3, 2)
    engines = cfg.generator.inference_engine
    assert (engines.num_engines, engines.gpu_memory_utilization) == (6, 0.45)
    assert cfg.trainer.policy.model.lora.rank == 32
    assert (cfg.generator.n_samples_per_prompt, cfg.generator.max_turns) == (8, 15)
    assert (cfg.trainer.eval_interval, cfg.trainer.eval_batch_size) == (10, 64)
    assert cfg.trainer.ckpt_interval == cfg.trainer.hf_save_interval == 20
    assert cfg.trainer.resume_mode == "latest"
    paths = (cfg.trainer.ckpt_path, cfg.trainer.export_path, cfg.trainer.policy.model.lora.lora_sync_path)
    assert all(str(path).startswith(f"/shared/runs/{HYPERPOD_NAME}/") for path in paths)
    assert recipe.mazes_per_step * recipe.group_size % (recipe.nodes * recipe.gpus) == 0


def test_what_the_recipe_for_hyperpod_calls_skyrls_default_is_that():
    default = SkyRLTrainConfig()
    algorithm = default.trainer.algorithm
    for name, value in {
        "temperature": default.generator.sampling_params.temperature,
        "micro_batch": default.trainer.micro_train_batch_size_per_gpu,
        "gradient_checkpointing": default.trainer.gradient_checkpointing,
        "clip_low": algorithm.eps_clip_low,
        "clip_high": algorithm.eps_clip_high,
    }.items():
        assert HYPERPOD[name].value == value
        assert HYPERPOD[name].source.startswith("SkyRL default")
    named = {name for name, setting in HYPERPOD.items() if setting.source.startswith("SkyRL default")}
    assert len(named) == 5
    assert all(s.source.startswith(("published", "ours", "SkyRL default")) for s in HYPERPOD.values())


def test_a_setting_that_skyrl_refuses_is_named(tmp_path):
    with pytest.raises(ValueError, match="SkyRL refuses these settings"):
        skyrl_config(
            RECIPES["tiny"], tmp_path, "model", ["trainer.policy.model.lora.rnk=3"], local=False, resume=False
        )


@pytest.mark.parametrize("key", sorted(OWNED))
def test_no_override_takes_the_recipes_place_alone_or_with_its_section(tmp_path, key):
    section = key.rsplit(".", 1)[0]
    for passed in (f"{key}=1", f"+{key}=1", *([f"{section}={{}}"] if section.count(".") else [])):
        with pytest.raises(RecipeError, match="belongs to the recipe; set "):
            skyrl_config(
                RECIPES["tiny"], tmp_path, str(tiny_model_folder()), [passed], local=False, resume=False
            )


def test_adapters_of_a_killed_run_are_gone_before_the_next_is_synced(tmp_path, monkeypatch):
    """They have higher numbers than those of the run that goes on, and would be taken for newer."""
    stale = tmp_path / "lora_sync" / "sync_000015"
    stale.mkdir(parents=True)

    class Reached(Exception):  # noqa: N818
        pass

    def stop(cfg):
        assert not stale.exists()
        raise Reached

    monkeypatch.setattr(run, "initialize_ray", stop)
    recipe = dataclasses.replace(RECIPES["tiny"], gpus=1, output=str(tmp_path))
    with pytest.raises(Reached):
        run.run(recipe, tmp_path, str(tiny_model_folder()), [], resume=False)


def test_the_trainer_gives_no_probability_to_what_the_engine_excludes():
    tokenizer = AutoTokenizer.from_pretrained(tiny_model_folder())
    model = AutoModelForImageTextToText.from_pretrained(tiny_model_folder(), dtype=torch.float32)
    ids = torch.tensor([tokenizer.encode("Go to red.", add_special_tokens=False)])
    forbid(model, tokenizer)
    with torch.no_grad():
        logits = model(input_ids=ids).logits
    probabilities = logits.softmax(-1)
    excluded = {int(i) for i in sampling_arguments(tokenizer)["logit_bias"]}
    assert excluded == {tokenizer.convert_tokens_to_ids(token) for token in FORBIDDEN} - {None}
    assert float(probabilities[..., sorted(excluded)].sum(-1).max()) == 0.0
    with torch.no_grad():
        free = AutoModelForImageTextToText.from_pretrained(tiny_model_folder(), dtype=torch.float32)(
            input_ids=ids
        ).logits
    free[..., sorted(excluded)] -= 100.0
    assert torch.allclose(free.softmax(-1), probabilities, atol=1e-6)
    entropy = -(probabilities * logits.log_softmax(-1)).sum(-1)
    assert torch.isfinite(entropy).all()


class EngineWithACache:
    """The local client behind a vLLM engine's picture cache; what is not in it has to be sent."""

    def __init__(self, generator, *, one_engine):
        self.pictures, self.requests, self.refuse = {}, [], lambda number: False
        self._all = {}
        self._generate = generator.inference_engine_client.generate
        generator.encode_picture = self.encode
        generator.one_engine = one_engine
        generator.inference_engine_client.generate = self.generate

    def encode(self, picture):
        self._all[picture.key] = picture
        return picture.key

    async def generate(self, request, model=None):
        features = request["mm_features"][0]
        sent, hashes = features["kwargs_data"]["image"], features["mm_hashes"]["image"]
        self.requests.append((request["session_ids"][0], [key is not None for key in sent]))
        if self.refuse(len(self.requests)):
            raise RuntimeError("500, the engine has a problem")
        self.pictures.update({key: self._all[key] for key in sent if key is not None})
        if missing := [key for key in hashes if key not in self.pictures]:
            raise RuntimeError(f"400, not in the cache: {missing}")
        features["kwargs_data"] = {"image": [self.pictures[key] for key in hashes]}
        return await self._generate(request, model)


@pytest.fixture
def generator(smoke, model_folder, tmp_path):
    cfg = skyrl_config(smoke, tmp_path, str(model_folder), [], local=True, resume=False)
    experiment = LocalExperiment(cfg, smoke, tmp_path)
    return experiment.get_generator(cfg, experiment.tokenizer, experiment.get_inference_client())


def play(generator, recipe, size=1):
    rows = MazeDataset.collate_fn([train_dataset(recipe)[0]])
    sampling = {"max_tokens": 5, "temperature": 1.0, "logprobs": 1}
    made, _ = prepare_generator_input(rows, size, sampling, "visgym_maze", "train", 1)
    return asyncio.run(generator.generate(made))


def test_a_picture_is_sent_once_per_conversation(generator, smoke):
    engine = EngineWithACache(generator, one_engine=False)
    play(generator, smoke, size=2)
    for name in {name for name, _ in engine.requests}:
        sent = [sent for other, sent in engine.requests if other == name]
        assert len(sent) == smoke.max_turns
        assert sent[0] == [True]
        assert all(not any(flags[:-1]) for flags in sent)


def test_one_engine_gets_a_picture_once_for_all_conversations(generator, smoke):
    engine = EngineWithACache(generator, one_engine=True)
    play(generator, smoke, size=4)
    # A random model stays where it is, so every turn shows one picture; only the first answers are
    # asked for before anybody knows that the engine has it.
    assert len(engine.pictures) < 4
    assert sum(any(sent) for _, sent in engine.requests) <= 4 * len(engine.pictures)
    assert all(trajectory is not None for trajectory in generator.trajectories)


def test_pictures_that_the_engine_forgot_are_sent_again(generator, smoke):
    engine = EngineWithACache(generator, one_engine=True)

    def forget(number):
        if number == 6:
            engine.pictures.clear()
        return False

    engine.refuse = forget
    output = play(generator, smoke, size=2)
    assert output["rollout_metrics"]["rollouts/lost"] == 0
    assert all(trajectory is not None for trajectory in generator.trajectories)


def test_a_request_that_the_engine_refuses_twice_costs_one_rollout(generator, smoke):
    engine = EngineWithACache(generator, one_engine=True)
    engine.refuse = lambda number: engine.requests[-1][0].endswith("-1")
    output = play(generator, smoke, size=3)
    assert [trajectory is None for trajectory in generator.trajectories] == [False, True, False]
    assert output["rollout_metrics"]["rollouts/lost"] == 1
    assert sum(output["loss_masks"][1]) == 0


def test_a_dead_engine_is_named(generator, smoke):
    EngineWithACache(generator, one_engine=True).refuse = lambda number: True
    with pytest.raises(RuntimeError, match="all 2 rollouts were lost: the engine refused a request"):
        play(generator, smoke, size=2)


def test_the_history_is_what_the_engine_would_render(generator, smoke):
    generator.check_render = True
    output = play(generator, smoke, size=3)
    assert output["rollout_metrics"]["rollouts/lost"] == 0
    assert all(trajectory is not None for trajectory in generator.trajectories)


def test_a_history_that_differs_from_the_rendering_is_found(generator, smoke, monkeypatch):
    generator.check_render = True
    later = generator.codec.later

    def one_token_more(messages):
        ids, pictures = later(messages)
        return [generator._eos, *ids], pictures

    monkeypatch.setattr(generator.codec, "later", one_token_more)
    with pytest.raises(RuntimeError, match="differs from the full rendering at token"):
        play(generator, smoke, size=2)
