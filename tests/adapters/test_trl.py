"""TRL itself plays and trains: two steps of GRPO of the tiny model on a CPU."""

import importlib.util
import sys
from pathlib import Path

import pytest

pytest.importorskip("trl", reason="needs trl: run tests/adapters/run trl")
torch = pytest.importorskip("torch")
from transformers import TrainerCallback  # noqa: E402

pytestmark = [pytest.mark.adapters, pytest.mark.filterwarnings("default")]

EXAMPLE = Path(__file__).parents[2] / "examples" / "trl_grpo.py"


def load_example():
    spec = importlib.util.spec_from_file_location("trl_grpo", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    sys.modules["trl_grpo"] = module
    spec.loader.exec_module(module)
    return module


class Watch(TrainerCallback):
    """The gradients that reach the vision tower in each step."""

    def __init__(self):
        self.vision = []

    def on_pre_optimizer_step(self, args, state, control, model=None, **kwargs):
        gradients = [p.grad for name, p in model.named_parameters() if ".visual." in name]
        assert all(g is not None for g in gradients)
        self.vision.append(sum(float(g.norm()) for g in gradients))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    trainer = load_example().make_trainer(str(tmp_path_factory.mktemp("trl")), steps=2, save_strategy="no")
    watch, model, passes, played = Watch(), trainer.model, [], []
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    reward = trainer.reward_funcs[0]

    def record(module, args, kwargs):
        if torch.is_grad_enabled():
            passes.append(kwargs)

    def rewarded(environments, **kwargs):
        played.append([environment._trajectory() for environment in environments])
        return reward(environments=environments, **kwargs)

    hook = model.register_forward_pre_hook(record, with_kwargs=True)
    trainer.reward_funcs[0] = rewarded
    trainer.add_callback(watch)
    trainer.train()
    hook.remove()
    return trainer, before, watch, passes, played


def test_the_vision_tower_learns(run):
    trainer, before, watch, _, _ = run
    assert len(watch.vision) == 2
    assert all(norm > 0 for norm in watch.vision)
    changed = [name for name, p in trainer.model.named_parameters() if not torch.equal(p, before[name])]
    assert any(".visual." in name for name in changed)


def test_a_group_plays_one_maze_and_the_groups_of_a_step_different_ones(run):
    *_, played = run
    assert len(played) == 2
    for step in played:
        keys = [episode.layout.key for episode in step]
        assert keys == [keys[0]] * 4 + [keys[4]] * 4
        assert keys[0] != keys[4]


def test_every_picture_that_was_shown_is_trained_on(run):
    trainer, _, _, passes, played = run
    for inputs, step in zip(passes, played, strict=True):
        # One with the task, and one after each answer but the last.
        shown = [len(e.turns) + (e.stop_reason is None) for e in step]
        assert max(shown) > 1
        assert len(inputs["image_grid_thw"]) == sum(shown)
        tokens = (inputs["input_ids"] == trainer.model.config.image_token_id).sum()
        assert tokens == inputs["image_grid_thw"].prod(dim=1).sum() // 4


def test_the_last_picture_matters_to_what_comes_after_it(run):
    trainer, _, _, passes, _ = run
    names = ("input_ids", "attention_mask", "mm_token_type_ids", "pixel_values", "image_grid_thw")
    inputs = {name: passes[0][name] for name in names}
    patches = int(inputs["image_grid_thw"][-1].prod())
    other = {**inputs, "pixel_values": inputs["pixel_values"].clone()}
    other["pixel_values"][-patches:] = 0
    with torch.no_grad():
        seen, blank = (trainer.model.model(**x).last_hidden_state for x in (inputs, other))
    position = int((inputs["input_ids"][-1] == trainer.model.config.image_token_id).nonzero().max())
    change = (seen - blank).abs().amax(dim=-1)
    assert change[:-1].max() < 1e-5  # the other episodes of the batch
    assert change[-1, position + 1 :].max() > 1e-2


def test_the_reward_is_what_the_episode_paid(run):
    trainer, *_, played = run
    logged = [entry["reward"] for entry in trainer.state.log_history if "reward" in entry]
    paid = [sum(e.total_reward for e in step) / len(step) for step in played]
    assert logged == pytest.approx(paid, rel=1e-4)
