"""The generator that both backends share: tokens, pictures, groups, and faults that cost one rollout."""

import asyncio
import copy
import dataclasses
import math
import time

import pytest
import torch
from skyrl.train.generators.base import TrajectoryID
from skyrl.train.generators.utils import prepare_generator_input

from visgym_maze import StopReason
from visgym_maze_skyrl.batch import GroupMismatchError
from visgym_maze_skyrl.config import skyrl_config
from visgym_maze_skyrl.dataset import MazeDataset, train_dataset
from visgym_maze_skyrl.env import MazeTextEnv
from visgym_maze_skyrl.local.experiment import LocalExperiment

pytestmark = pytest.mark.train

SAMPLING = {"max_tokens": 5, "temperature": 1.0, "top_p": 1.0, "top_k": -1, "logprobs": 1, "stop": None}


@pytest.fixture(scope="module")
def experiment(smoke, model_folder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    cfg = skyrl_config(smoke, folder, str(model_folder), [], local=True, resume=False)
    return LocalExperiment(cfg, smoke, folder)


@pytest.fixture
def generator(experiment):
    client = experiment.get_inference_client()
    return experiment.get_generator(experiment.cfg, experiment.tokenizer, client)


def batch(recipe, groups=2, size=3, phase="train"):
    rows = MazeDataset.collate_fn([train_dataset(recipe)[i] for i in range(groups)])
    made, _ = prepare_generator_input(rows, size, dict(SAMPLING), "visgym_maze", phase, 1)
    return made


def play(generator, made):
    return asyncio.run(generator.generate(made))


def test_what_was_sampled_is_what_is_trained(generator, smoke, experiment):
    seen = {}
    original = generator.inference_engine_client.generate

    async def spy(request, model=None):
        output = await original(request, model)
        history = seen.setdefault(request["session_ids"][0], [])
        history.append((list(request["prompt_token_ids"][0]), list(output["response_ids"][0])))
        return output

    generator.inference_engine_client.generate = spy
    made = batch(smoke)
    output = play(generator, made)
    pad = experiment.tokenizer.convert_tokens_to_ids("<|image_pad|>")
    for i, name in enumerate(made["trajectory_ids"]):
        turns = seen[f"train-1-1.0-{name.to_string().replace('_', '-')}"]
        whole = output["prompt_token_ids"][i] + output["response_ids"][i]
        mask = [0] * len(output["prompt_token_ids"][i]) + output["loss_masks"][i]
        for prompt, answer in turns:
            # Each prompt is a prefix of the trained sequence, and the answer stands right behind it.
            assert whole[: len(prompt)] == prompt
            assert whole[len(prompt) : len(prompt) + len(answer)] == answer
            assert mask[len(prompt) : len(prompt) + len(answer)] == [1] * len(answer)
        assert sum(mask) == sum(len(answer) for _, answer in turns)
        grids = output["image_grid_thw"][i]
        assert len(grids) == len(turns)
        assert whole.count(pad) == int(grids.prod(dim=1).sum()) // 4
        assert len(output["pixel_values"][i]) == int(grids.prod(dim=1).sum())


def test_observations_are_what_the_chat_template_puts_between_two_answers(generator, smoke, experiment):
    output = play(generator, batch(smoke, groups=1, size=2))
    text = experiment.tokenizer.decode(output["prompt_token_ids"][0] + output["response_ids"][0])
    assert "<|im_end|><|im_end|>" not in text
    assert text.count("<|im_start|>assistant\n") == len(output["image_grid_thw"][0])
    assert text.count("<|im_start|>user\n") == len(output["image_grid_thw"][0])


def test_every_rollout_of_a_group_plays_its_maze(generator, smoke):
    made = batch(smoke, groups=2, size=4)
    play(generator, made)
    keys = [trajectory.layout.key for trajectory in generator.trajectories]
    assert len(set(keys[:4])) == len(set(keys[4:])) == 1
    assert keys[0] != keys[4]


def test_a_group_that_plays_two_mazes_stops_the_run(generator, smoke):
    made = batch(smoke, groups=2, size=2)
    made["env_extras"][1] = copy.deepcopy(made["env_extras"][2])
    with pytest.raises(GroupMismatchError, match="different mazes"):
        play(generator, made)


def test_two_groups_with_one_maze_stop_a_training_step(generator, smoke):
    made = batch(smoke, groups=2, size=2)
    for i in (2, 3):
        made["env_extras"][i]["layout"] = made["env_extras"][0]["layout"]
    with pytest.raises(GroupMismatchError, match="same maze"):
        play(generator, made)


def test_the_same_step_gives_the_same_rollouts_whatever_ran_before(generator, smoke):
    first = play(generator, batch(smoke))
    play(generator, batch(smoke, groups=1, size=5, phase="eval"))
    second = play(generator, batch(smoke))
    assert first["response_ids"] == second["response_ids"]


def _lose_second_rollout(generator, smoke, monkeypatch, method, fault):
    """Make one method of the environment of the second rollout misbehave; return the output."""
    original = getattr(MazeTextEnv, method)
    count = {"made": 0}
    construct = MazeTextEnv.__init__

    def numbered(self, *args, **kwargs):
        construct(self, *args, **kwargs)
        self.number = count["made"]
        count["made"] += 1

    def misbehave(self, *args, **kwargs):
        return fault(self) if self.number == 1 else original(self, *args, **kwargs)

    closed = []
    close = MazeTextEnv.close
    monkeypatch.setattr(MazeTextEnv, "__init__", numbered)
    monkeypatch.setattr(MazeTextEnv, method, misbehave)
    monkeypatch.setattr(MazeTextEnv, "close", lambda self: (closed.append(self.number), close(self))[1])
    return play(generator, batch(smoke, groups=2, size=3)), closed


def _raise(env):
    raise ValueError("broken")


def _returns(value):
    return lambda env: value


def _observes(*messages, reward=0.0):
    return _returns({"observations": list(messages), "reward": reward, "done": False})


def _leaves(env):
    raise SystemExit(3)


PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
FAULTS = {
    "step raises": ("step", _raise),
    "init raises": ("init", _raise),
    "step leaves the program": ("step", _leaves),
    "step returns nothing": ("step", _returns(None)),
    "step hangs": ("step", lambda env: time.sleep(1.0)),
    "init returns nothing": ("init", _returns(None)),
    "init returns no messages": ("init", _returns((None, {}))),
    "init returns an empty list": ("init", _returns(([], {}))),
    "init returns numbers": ("init", _returns(([1, 2], {}))),
    "init returns a broken picture": ("init", _returns(([{"role": "user", "content": [PICTURE]}], {}))),
    "step returns a broken picture": ("step", _observes({"role": "user", "content": [PICTURE]})),
    "step observes numbers": ("step", _observes(1, 2)),
    "step observes a message without a role": ("step", _observes({"content": "hm"})),
    "step observes an image token": ("step", _observes({"role": "user", "content": "<|image_pad|>"})),
    "step pays nan": ("step", _observes({"role": "user", "content": "ok"}, reward=float("nan"))),
    "step pays infinity": ("step", _observes({"role": "user", "content": "ok"}, reward=float("inf"))),
    "metrics raise": ("get_metrics", _raise),
    "metrics are nothing": ("get_metrics", _returns(None)),
    "the record raises": ("trajectory", _raise),
}


@pytest.mark.parametrize(("method", "fault"), FAULTS.values(), ids=FAULTS)
def test_a_bad_environment_costs_its_rollout_alone(generator, smoke, monkeypatch, method, fault):
    generator.env_timeout = 0.3
    output, closed = _lose_second_rollout(generator, smoke, monkeypatch, method, fault)
    lost = [i for i, trajectory in enumerate(generator.trajectories) if trajectory is None]
    assert len(lost) == 1
    assert sorted(closed) == list(range(6))
    assert output["rollout_metrics"]["rollouts/lost"] == 1.0
    assert sum(output["loss_masks"][lost[0]]) == 0
    for i in range(6):
        assert len(output["response_ids"][i]) == len(output["loss_masks"][i]) == len(output["rewards"][i]) > 0
        if i not in lost:
            assert sum(output["loss_masks"][i]) > 0
    # The lost rollout gets its group's mean, so it does not move the baseline of the others.
    group = [i for i in range(lost[0] // 3 * 3, lost[0] // 3 * 3 + 3) if i not in lost]
    mean = sum(sum(output["rewards"][i]) for i in group) / len(group)
    assert sum(output["rewards"][lost[0]]) == pytest.approx(mean)


def test_a_hundred_megabytes_end_the_episode_and_nothing_else(generator, smoke, monkeypatch):
    huge = _observes({"role": "user", "content": "left " * 20_000_000})
    output, _ = _lose_second_rollout(generator, smoke, monkeypatch, "step", huge)
    assert output["rollout_metrics"]["rollouts/lost"] == 0.0
    assert [t.stop_reason for t in generator.trajectories].count(StopReason.CONTEXT_LIMIT) == 1


@pytest.mark.parametrize("fault", [_raise, _leaves])
def test_an_environment_that_cannot_be_closed_loses_nothing(generator, smoke, monkeypatch, fault):
    monkeypatch.setattr(MazeTextEnv, "close", fault)
    assert play(generator, batch(smoke))["rollout_metrics"]["rollouts/lost"] == 0.0


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_environments_that_hang_take_no_place_from_others(experiment, smoke, monkeypatch, workers):
    cfg = copy.deepcopy(experiment.cfg)
    cfg.environment.skyrl_gym.max_env_workers = workers
    generator = experiment.get_generator(cfg, experiment.tokenizer, experiment.get_inference_client())
    generator.env_timeout = 0.3
    _lose_second_rollout(generator, smoke, monkeypatch, "step", lambda env: time.sleep(20))
    assert sum(trajectory is None for trajectory in generator.trajectories) == 1


ENGINE_FAULTS = {
    "nothing": lambda output: {},
    "no ids": lambda output: {**output, "response_ids": []},
    "an empty answer": lambda output: {**output, "response_ids": [[]]},
    "a negative id": lambda output: {**output, "response_ids": [[-1, *output["response_ids"][0][1:]]]},
    "too few log-probabilities": lambda output: {**output, "response_logprobs": [[-1.0]]},
    "too many log-probabilities": lambda output: {**output, "response_logprobs": [[-1.0] * 99]},
    "log-probabilities that are none": lambda output: {**output, "response_logprobs": [None]},
    "nan": lambda output: {**output, "response_logprobs": [[math.nan] * len(output["response_ids"][0])]},
}


@pytest.mark.parametrize("fault", ENGINE_FAULTS.values(), ids=ENGINE_FAULTS)
def test_a_bad_answer_of_the_engine_costs_its_rollout_alone(generator, smoke, monkeypatch, fault):
    client = generator.inference_engine_client
    original = client.generate

    async def slip(request, model=None):
        output = await original(request, model)
        second = request["session_ids"][0].endswith("-0-1")
        return fault({**output, "response_ids": [[5, 6]]}) if second else output

    monkeypatch.setattr(client, "generate", slip)
    output = play(generator, batch(smoke))
    assert [t is None for t in generator.trajectories] == [False, True, False, False, False, False]
    for i in range(6):
        lengths = {
            len(output[key][i]) for key in ("response_ids", "loss_masks", "rewards", "rollout_logprobs")
        }
        assert len(lengths) == 1


def test_a_session_that_cannot_be_ended_loses_nothing(generator, smoke, monkeypatch):
    async def refuse(session):
        raise RuntimeError("gone")

    monkeypatch.setattr(generator.inference_engine_client, "finish_session", refuse)
    assert play(generator, batch(smoke))["rollout_metrics"]["rollouts/lost"] == 0.0


def test_an_environment_that_always_fails_is_an_error_that_names_the_cause(generator, smoke, monkeypatch):
    monkeypatch.setattr(MazeTextEnv, "init", lambda self, prompt: _raise(self))
    with pytest.raises(RuntimeError, match="all 6 rollouts were lost: ValueError: broken"):
        play(generator, batch(smoke))


def test_a_sampled_image_token_costs_its_rollout_alone(generator, smoke, experiment):
    pad = experiment.tokenizer.convert_tokens_to_ids("<|image_pad|>")
    original = generator.inference_engine_client.generate

    async def slip(request, model=None):
        output = await original(request, model)
        if request["session_ids"][0].endswith("-0-1"):
            output["response_ids"][0][0] = pad
        return output

    generator.inference_engine_client.generate = slip
    output = play(generator, batch(smoke))
    assert [t is None for t in generator.trajectories] == [False, True, False, False, False, False]
    assert output["rollout_metrics"]["rollouts/lost"] == 1.0


def test_an_episode_that_outgrows_the_context_keeps_its_rewards(generator, smoke):
    recipe = dataclasses.replace(smoke, reward_step=-0.25)
    generator.generator_cfg = copy.copy(generator.generator_cfg)
    generator.generator_cfg.max_input_length = 100
    output = play(generator, batch(recipe))
    for i, trajectory in enumerate(generator.trajectories):
        assert output["stop_reasons"][i] == "length"
        assert trajectory.stop_reason is StopReason.CONTEXT_LIMIT
        assert 0 < len(trajectory.turns) < recipe.max_turns
        assert sum(output["rewards"][i]) == pytest.approx(-0.25 * len(trajectory.turns))


def test_a_prompt_that_never_fits_is_an_error_not_an_empty_answer(generator, smoke):
    generator.generator_cfg = copy.copy(generator.generator_cfg)
    generator.generator_cfg.max_input_length = 5
    with pytest.raises(RuntimeError, match="first prompt has"):
        play(generator, batch(smoke))


def test_rewards_stand_on_the_last_token_of_their_own_turn(generator, smoke):
    recipe = dataclasses.replace(smoke, reward_step=-0.5, reward_bump=-0.125)
    output = play(generator, batch(recipe))
    for i, trajectory in enumerate(generator.trajectories):
        mask, rewards = output["loss_masks"][i], output["rewards"][i]
        ends = [k for k in range(len(mask)) if mask[k] and (k + 1 == len(mask) or not mask[k + 1])]
        assert [rewards[k] for k in ends] == [turn.reward for turn in trajectory.turns]
        assert sum(rewards) == pytest.approx(trajectory.total_reward)


def test_swapping_a_picture_changes_the_log_probabilities(generator, smoke, experiment):
    client = generator.inference_engine_client
    output = play(generator, batch(smoke, groups=2, size=2))
    ids = output["prompt_token_ids"][0] + output["response_ids"][0]
    model = client.engine.model
    inputs = {"input_ids": torch.tensor([ids]), "image_grid_thw": output["image_grid_thw"][0]}
    inputs["mm_token_type_ids"] = (inputs["input_ids"] == model.config.image_token_id).long()
    with torch.no_grad():
        mine = model(**inputs, pixel_values=output["pixel_values"][0]).logits
        other = model(**inputs, pixel_values=output["pixel_values"][0].flip(0)).logits
    assert (mine - other).abs().max() > 1e-3


def test_ids_without_batch_metadata_still_work(generator, smoke):
    made = batch(smoke, groups=1, size=2)
    made["batch_metadata"] = None
    made["trajectory_ids"] = [TrajectoryID("a", 0), TrajectoryID("a", 1)]
    assert len(play(generator, made)["response_ids"]) == 2
