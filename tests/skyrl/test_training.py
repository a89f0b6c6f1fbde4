"""SkyRL's real trainer, worker, checkpoints and exports, on a tiny model with real pictures."""

import dataclasses
import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from peft import PeftModel
from safetensors.torch import load_file
from transformers import AutoModelForImageTextToText, AutoProcessor

from visgym_maze import Trajectory, role_of
from visgym_maze.files import locked
from visgym_maze_skyrl.assets import tiny_model_folder
from visgym_maze_skyrl.env import MazeTextEnv
from visgym_maze_skyrl.model_card import write_model_card
from visgym_maze_skyrl.recipe import TINY_MODEL, RecipeError
from visgym_maze_skyrl.runlog import StepLog, owes_evaluation
from visgym_maze_skyrl.train import train
from visgym_maze_skyrl.trainer import MazeTrainer, repair_latest

pytestmark = pytest.mark.train

EXAMPLE = Path(__file__).parents[2] / "examples" / "train_grpo.py"
STEPS = 4


def arguments(smoke, output):
    """The recipe as a command line."""
    fields = ("model", "max_turns", "max_new_tokens", "eval_levels", "threads", "steps", "checkpoint_every")
    fields += ("reward_step", "reward_bump", "eval_every")
    pairs = [f"{name}={getattr(smoke, name)}" for name in fields]
    return [sys.executable, str(EXAMPLE), "--recipe", "smoke", f"output={output}", *pairs]


@pytest.fixture(scope="module")
def recipe(smoke):
    # The shipped model, because the answers of a random one all earn the same: no variance, no gradient.
    return dataclasses.replace(
        smoke,
        model=TINY_MODEL,
        steps=STEPS,
        checkpoint_every=2,
        eval_every=2,
        reward_step=-0.01,
        reward_bump=-0.1,
    )


@pytest.fixture(scope="module")
def run(recipe, tmp_path_factory):
    """An uninterrupted run: its folder and report."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    return folder, train(dataclasses.replace(recipe, output=str(folder)))


def maze_sequence(folder):
    return [(r["step"], r["groups"]) for r in StepLog(folder / "groups.jsonl").read()]


def adapter(folder, step=STEPS):
    return load_file(folder / "exports" / f"global_step_{step}" / "policy" / "adapter_model.safetensors")


def test_every_group_of_every_step_played_one_maze_and_no_two_the_same(run, recipe):
    sequence = maze_sequence(run[0])
    assert [step for step, _ in sequence] == list(range(1, STEPS + 1))
    for _, groups in sequence:
        assert len(groups) == recipe.mazes_per_step
        assert all(len(group["keys"]) == 1 for group in groups)
        assert len({group["keys"][0] for group in groups}) == len(groups)


def test_training_mazes_never_are_evaluation_mazes(run, recipe):
    trained = {key for _, groups in maze_sequence(run[0]) for group in groups for key in group["keys"]}
    for path in (run[0] / "trajectories").glob("*.jsonl"):
        for line in path.read_text().splitlines():
            layout = Trajectory.from_dict(json.loads(line)).layout
            assert layout.key not in trained
            assert role_of(layout) == "eval"


def test_rollout_and_trainer_agree_on_log_probabilities(run):
    for record in StepLog(run[0] / "metrics.jsonl").read():
        assert record["policy/rollout_train_logprobs_abs_diff_max"] <= 1e-4
        assert record["policy/grad_norm"] > 0


def test_the_report_says_what_was_measured(run, recipe):
    folder, report = run
    assert report == json.loads((folder / "report.json").read_text())
    modes = [(r["step"], r["mode"]) for r in report["evaluations"]]
    assert modes == [(step, mode) for step in (0, 2, 4) for mode in ("greedy", "sampled")]
    for record in report["evaluations"]:
        scores = record["report"]
        assert scores["episodes"] == scores["ceiling"] == recipe.eval_levels
        assert scores["interval"][0] <= scores["success_rate"] <= scores["interval"][1]
    assert report["steps_done"] == STEPS
    assert report["seconds_per_step"] > 0
    assert report["turns_per_second"] > 0
    text = (folder / "report.md").read_text()
    assert "95 % interval" in text
    assert all(f"{r['report']['successes']}/{recipe.eval_levels}" in text for r in report["evaluations"])
    assert (folder / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_exports_load_with_stock_peft_and_touch_the_language_model_only(run):
    export = run[0] / "exports" / f"global_step_{STEPS}" / "policy"
    weights = adapter(run[0])
    assert weights
    assert all("language_model" in name and "visual" not in name for name in weights)
    assert any(tensor.abs().max() > 0 for name, tensor in weights.items() if "lora_B" in name)
    base = AutoModelForImageTextToText.from_pretrained(tiny_model_folder(), dtype=torch.float32)
    PeftModel.from_pretrained(base, export)
    AutoProcessor.from_pretrained(export)


def test_an_export_says_what_it_is_and_nothing_of_this_machine(run):
    card = (run[0] / "exports" / f"global_step_{STEPS}" / "policy" / "README.md").read_text()
    assert f"{STEPS} steps of GRPO" in card
    assert "7x7 mazes" in card
    assert str(tiny_model_folder()) not in card
    assert str(Path.home()) not in card
    assert "More Information Needed" not in card


@pytest.mark.parametrize(("model", "base"), [("Qwen/Qwen3-VL-8B-Instruct", True), ("./mine/model", False)])
def test_a_model_card_names_a_base_of_the_hub_and_no_folder(recipe, tmp_path, model, base):
    (tmp_path / "adapter_config.json").write_text("{}")
    write_model_card(tmp_path, dataclasses.replace(recipe, model=model), 7)
    card = (tmp_path / "README.md").read_text()
    assert (f"base_model: {model}" in card) == base
    assert "./mine" not in card


def test_a_run_killed_in_the_middle_of_a_step_resumes_as_if_nothing_had_happened(run, recipe, tmp_path):
    folder = tmp_path / "killed"
    process = subprocess.Popen(
        arguments(recipe, folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    log = StepLog(folder / "metrics.jsonl")
    deadline = time.monotonic() + 120
    while len(log.read()) < 3:  # the checkpoint is at step 2, so step 3 has to be played again
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    time.sleep(0.1)
    process.kill()
    process.wait()
    assert repair_latest(folder / "checkpoints") == 2
    report = train(dataclasses.replace(recipe, output=str(folder)), resume=True)
    assert report["steps_done"] == STEPS
    assert maze_sequence(folder) == maze_sequence(run[0])
    assert [(r["step"], r["mode"]) for r in report["evaluations"]] == [
        (r["step"], r["mode"]) for r in run[1]["evaluations"]
    ]
    ours, whole = adapter(folder), adapter(run[0])
    for name in whole:
        torch.testing.assert_close(ours[name], whole[name], rtol=1e-4, atol=1e-5)


def test_ctrl_c_stops_after_the_step_with_a_checkpoint(recipe, tmp_path):
    folder = tmp_path / "stopped"
    longer = dataclasses.replace(recipe, steps=500, eval_every=1000, checkpoint_every=1000)
    process = subprocess.Popen(
        arguments(longer, folder), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    log = StepLog(folder / "metrics.jsonl")
    deadline = time.monotonic() + 120
    while not log.read():
        assert process.poll() is None, process.stdout.read()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output
    assert output.startswith("backend: local")
    assert "go on with --resume" in output
    assert "Traceback" not in output
    assert "ERROR" not in output
    done = log.read()[-1]["step"]
    assert repair_latest(folder / "checkpoints") == done
    assert json.loads((folder / "report.json").read_text())["steps_done"] == done


def test_ctrl_c_at_any_other_moment_leaves_one_line_and_no_claim(recipe, tmp_path):
    folder = tmp_path / "early"
    process = subprocess.Popen(
        arguments(recipe, folder), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout.readline().startswith("backend: local")
    time.sleep(0.5)  # the libraries are being imported
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 130, output
    assert "interrupted" in output
    assert "Traceback" not in output
    assert not (folder / "run.json").exists()


def test_the_vision_tower_is_trained_when_all_weights_are(recipe, tmp_path):
    folder = tmp_path / "full"
    train(dataclasses.replace(recipe, output=str(folder), lora_rank=0, steps=1, checkpoint_every=1))
    before = load_file(tiny_model_folder() / "model.safetensors")
    after = load_file(folder / "exports" / "global_step_1" / "policy" / "model.safetensors")
    changed = {name for name in before if not torch.equal(after[name], before[name].to(after[name].dtype))}
    assert any("visual" in name for name in changed)
    assert any("language_model" in name for name in changed)


def test_the_kl_term_starts_at_zero_and_grows_with_the_policy(recipe, tmp_path):
    folder = tmp_path / "kl"
    train(dataclasses.replace(recipe, output=str(folder), kl=0.1, learning_rate=5e-3, steps=3, eval_every=9))
    kl = [record["policy/policy_kl"] for record in StepLog(folder / "metrics.jsonl").read()]
    assert abs(kl[0]) < 1e-6
    assert kl[-1] > 1e-4


def test_lost_rollouts_do_not_move_the_advantages_of_the_others(recipe, tmp_path, monkeypatch):
    """Neither the mean nor the deviation of their group: as if they had never been sampled."""
    seen = {}
    original = MazeTrainer.compute_advantages_and_returns

    def keep(self, data):
        seen["lost"] = [t is None for t in self.generator.trajectories]
        seen["rewards"] = data["rewards"].sum(dim=1)
        result = original(self, data)
        seen["advantages"] = result["advantages"].abs().amax(dim=1) * result["advantages"].sum(dim=1).sign()
        return result

    init = MazeTextEnv.init
    made = iter(range(10**6))

    def sometimes(self, prompt):
        if self.extras_of_test in (1, 2):
            raise ValueError("broken")
        return init(self, prompt)

    construct = MazeTextEnv.__init__

    def numbered(self, *args, **kwargs):
        construct(self, *args, **kwargs)
        self.extras_of_test = next(made)

    monkeypatch.setattr(MazeTrainer, "compute_advantages_and_returns", keep)
    monkeypatch.setattr(MazeTextEnv, "__init__", numbered)
    monkeypatch.setattr(MazeTextEnv, "init", sometimes)
    run = dataclasses.replace(recipe, output=str(tmp_path / "run"), steps=1, eval_every=9, eval_levels=1)
    made = iter([100, 101, *range(10**6)])  # the two evaluations before training come first
    train(run)
    assert sum(seen["lost"]) == 2
    size = recipe.group_size
    for first in range(0, len(seen["lost"]), size):
        healthy = [i for i in range(first, first + size) if not seen["lost"][i]]
        rewards = seen["rewards"][healthy]
        expected = (rewards - rewards.mean()) / (rewards.std() + 1e-6)
        torch.testing.assert_close(seen["advantages"][healthy], expected, atol=1e-3, rtol=1e-3)


def test_groups_without_variance_give_zero_and_finite_advantages(smoke, tmp_path, monkeypatch):
    """A random model solves nothing, so all rollouts of a group earn the same."""
    seen = []
    original = MazeTrainer.compute_advantages_and_returns

    def keep(self, data):
        seen.append((data["rewards"].abs().max(), original(self, data)["advantages"]))
        return data

    monkeypatch.setattr(MazeTrainer, "compute_advantages_and_returns", keep)
    run = dataclasses.replace(smoke, output=str(tmp_path / "run"), steps=1, eval_every=9, turn_credit=1.0)
    train(run)
    (rewards, advantages) = seen[0]
    assert rewards == 0
    assert (advantages == 0).all()


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_turns_of_one_rollout_differ_in_advantage_only_if_asked_to(recipe, tmp_path, monkeypatch, weight):
    seen = []
    original = MazeTrainer.compute_advantages_and_returns

    def keep(self, data):
        seen.append((original(self, data)["advantages"], data["loss_mask"].bool()))
        return data

    monkeypatch.setattr(MazeTrainer, "compute_advantages_and_returns", keep)
    output = str(tmp_path / "run")
    train(dataclasses.replace(recipe, output=output, steps=1, eval_every=9, turn_credit=weight))
    advantages, sampled = seen[0]
    assert sampled.any(dim=1).all()
    spread = [float(a[m].max() - a[m].min()) for a, m in zip(advantages, sampled, strict=True)]
    assert (max(spread) > 0.1) == (weight > 0)


@pytest.mark.parametrize(
    "change",
    [
        {"observe": "text"},
        {"observe": "blank"},
        {"dialect": "json", "goal_rule": "reach"},
        {"mini_batch_mazes": 1},
    ],
    ids=lambda change: ",".join(f"{k}={v}" for k, v in change.items()),
)
def test_other_ways_to_play_train_too(recipe, tmp_path, change):
    output = str(tmp_path / "run")
    report = train(dataclasses.replace(recipe, output=output, steps=1, eval_every=9, **change))
    assert report["steps_done"] == 1
    assert report["lost_rollouts"] == 0


def test_a_run_that_is_already_complete_resumes_to_its_report(run, recipe):
    folder, report = run
    again = train(dataclasses.replace(recipe, output=str(folder)), resume=True)
    assert again["evaluations"] == report["evaluations"]


def test_an_export_that_was_cut_off_is_not_listed_and_is_made_when_resumed(
    run, recipe, tmp_path, monkeypatch
):
    def cut_off(self, model, export_dir, tokenizer):
        Path(export_dir).mkdir(parents=True)
        (Path(export_dir) / "adapter_config.json").write_text("{")
        raise OSError("no space left")

    from visgym_maze_skyrl.local.worker import LocalDispatch  # needs the stand-in that a run has set up

    folder = tmp_path / "cut"
    short = dataclasses.replace(recipe, output=str(folder), eval_every=9)
    with monkeypatch.context() as patch:
        patch.setattr(LocalDispatch, "save_hf_model", cut_off)
        with pytest.raises(OSError, match="no space left"):
            train(short)
    assert [path.name for path in folder.glob("checkpoints/global_step_*")] == ["global_step_2"]
    assert not [*folder.glob("exports/global_step_*")]
    train(short, resume=True)
    assert {path.name for path in folder.glob("exports/global_step_*")} == {"global_step_2", "global_step_4"}
    assert adapter(folder)


@pytest.mark.parametrize("kept", [0, 1])
def test_a_run_that_died_in_its_last_evaluation_makes_it_when_resumed(run, recipe, tmp_path, kept):
    """The checkpoint of a step is written before the evaluation after it."""
    folder = tmp_path / "resumed"
    shutil.copytree(run[0], folder)
    log = StepLog(folder / "evaluations.jsonl")
    half = [r for r in log.read() if r["step"] == STEPS][:kept]
    log.keep_up_to(STEPS - 1)
    for record in half:
        log.append(record)
    report = train(dataclasses.replace(recipe, output=str(folder)), resume=True)
    assert without_times(report["evaluations"]) == without_times(run[1]["evaluations"])


@pytest.mark.parametrize(
    ("step", "logged", "owed"),
    [
        (0, [], True),
        (0, [0], False),
        (2, [0], True),
        (2, [0, 2], False),
        (3, [0, 2], False),
        (5, [0, 2, 4], True),
    ],
)
def test_a_resumed_run_begins_with_an_evaluation_only_if_one_is_missing(recipe, tmp_path, step, logged, owed):
    log = StepLog(tmp_path / "evaluations.jsonl")
    recipe = dataclasses.replace(recipe, eval_every=2, steps=5)
    for done in logged:
        log.append({"step": done, "mode": "greedy"})
        assert owes_evaluation(tmp_path, recipe, done), "half of an evaluation is none"
        log.append({"step": done, "mode": "sampled"})
    assert owes_evaluation(tmp_path, recipe, step) == owed


def without_times(records):
    return [{k: v for k, v in record.items() if "seconds" not in k} for record in records]


def test_a_run_that_died_before_its_first_checkpoint_starts_over(recipe, tmp_path):
    folder = tmp_path / "early"
    short = dataclasses.replace(recipe, output=str(folder), steps=1, eval_every=9)
    first = train(short)
    shutil.rmtree(folder / "checkpoints")
    again = train(short, resume=True)
    assert [(r["step"], r["mode"]) for r in again["evaluations"]] == [
        (r["step"], r["mode"]) for r in first["evaluations"]
    ]
    assert again["steps_done"] == 1


def test_a_complete_run_can_be_extended(recipe, tmp_path):
    folder = tmp_path / "extended"
    short = dataclasses.replace(recipe, output=str(folder), steps=2, eval_every=9)
    train(short)
    train(dataclasses.replace(short, steps=3), resume=True)
    groups = [[group["group"] for group in groups] for _, groups in maze_sequence(folder)]
    assert groups == [[0, 1], [2, 3], [4, 5]]


def test_a_damaged_record_of_the_settings_is_named(recipe, tmp_path):
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(RecipeError, match="is damaged"):
        train(dataclasses.replace(recipe, output=str(tmp_path)), resume=True)


def snapshot(folder):
    return {p: p.stat().st_mtime_ns for p in sorted(folder.rglob("*")) if p.name != ".lock"}


@pytest.mark.parametrize(
    ("change", "resume", "message"),
    [
        ({}, False, "holds a run"),
        ({"seed": 3}, True, "was made with seed=0, now it is 3"),
        ({"learning_rate": 0.5}, True, "learning_rate=0.0002"),
    ],
    ids=["no resume", "another seed", "another learning rate"],
)
def test_a_run_folder_is_left_untouched_by_bad_input(run, recipe, change, resume, message):
    folder = run[0]
    before = snapshot(folder)
    with pytest.raises(RecipeError, match=message):
        train(dataclasses.replace(recipe, output=str(folder), **change), resume=resume)
    assert snapshot(folder) == before


def test_a_second_run_in_the_same_folder_is_refused(run, recipe):
    with locked(run[0], RuntimeError()), pytest.raises(RecipeError, match="another run is writing"):
        train(dataclasses.replace(recipe, output=str(run[0])), resume=True)


def checkpoint(folder, step):
    """A checkpoint with all parts that a resumed run needs."""
    policy = folder / f"global_step_{step}" / "policy"
    policy.mkdir(parents=True)
    for path in (policy.parent / "trainer_state.pt", policy.parent / "data.pt"):
        torch.save({"step": step}, path)
    for kind in ("model", "optim", "extra_state"):
        torch.save({"step": step}, policy / f"{kind}_world_size_1_rank_0.pt")
    return policy.parent


def cut(path):
    path.write_bytes(path.read_bytes()[:-30])


@pytest.mark.parametrize(
    "damage",
    [
        lambda c: (c / "trainer_state.pt").write_bytes(b""),
        lambda c: (c / "data.pt").unlink(),
        lambda c: shutil.rmtree(c / "policy"),
        lambda c: cut(c / "policy" / "model_world_size_1_rank_0.pt"),
        lambda c: (c / "policy" / "optim_world_size_1_rank_0.pt").unlink(),
        lambda c: of_more_ranks(c, 2),
    ],
    ids=["empty state", "no data", "no policy", "cut weights", "no optimiser", "one of two ranks"],
)
def test_a_damaged_checkpoint_is_put_aside_for_the_one_before(tmp_path, damage):
    checkpoint(tmp_path, 2)
    damage(checkpoint(tmp_path, 10))
    (tmp_path / ".staging" / "global_step_12").mkdir(parents=True)
    (tmp_path / "latest_ckpt_global_step.txt").write_text("10")
    assert repair_latest(tmp_path) == 2
    assert (tmp_path / "latest_ckpt_global_step.txt").read_text() == "2"
    assert (tmp_path / ".damaged_global_step_10").is_dir()
    assert not (tmp_path / ".staging").exists()


def of_more_ranks(checkpoint, size):
    """Rename the parts as the first of several ranks writes them."""
    for path in list((checkpoint / "policy").glob("*_world_size_1_*.pt")):
        path.rename(path.with_name(path.name.replace("_world_size_1_", f"_world_size_{size}_")))


def test_a_checkpoint_of_several_ranks_and_folders_of_other_names_are_no_damage(tmp_path):
    of_more_ranks(checkpoint(tmp_path, 4), 2)
    policy = tmp_path / "global_step_4" / "policy"
    for path in list(policy.glob("*_rank_0.pt")):
        shutil.copy(path, policy / path.name.replace("_rank_0", "_rank_1"))
    checkpoint(tmp_path, 9).rename(tmp_path / "global_step_best")
    assert repair_latest(tmp_path) == 4
    assert (tmp_path / "global_step_best").is_dir()


def test_a_torn_pointer_is_mended_and_no_checkpoint_is_no_error(tmp_path):
    for step in (8, 16, 100):
        checkpoint(tmp_path, step)
    (tmp_path / "latest_ckpt_global_step.txt").write_text("")
    assert repair_latest(tmp_path) == 100
    assert repair_latest(tmp_path / "nothing") is None


def test_a_real_run_goes_on_from_the_checkpoint_before_a_damaged_one(run, recipe, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(run[0], folder)
    (folder / "checkpoints" / "global_step_4" / "trainer_state.pt").write_bytes(b"")
    train(dataclasses.replace(recipe, output=str(folder)), resume=True)
    assert maze_sequence(folder) == maze_sequence(run[0])


def test_a_refused_run_does_not_claim_its_folder(recipe, tmp_path):
    mine = dataclasses.replace(recipe, output=str(tmp_path / "mine"), steps=1, eval_every=9)
    for bad, passed in (
        (mine, ["trainer.bogus=1"]),
        (mine, ["generator.max_turns=3"]),
        (dataclasses.replace(mine, model="nobody/nothing"), []),
        (dataclasses.replace(mine, train_levels=1), []),
    ):
        with pytest.raises(RecipeError):
            train(bad, passed=passed)
        assert not (tmp_path / "mine" / "run.json").exists()
    assert train(mine)["steps_done"] == 1


def test_a_run_is_resumed_with_the_same_settings_of_skyrl_or_not_at_all(recipe, tmp_path):
    mine = dataclasses.replace(recipe, output=str(tmp_path), steps=1, eval_every=9)
    settings = ["trainer.algorithm.eps_clip_high=0.28"]
    train(mine, passed=settings)
    for other in ([], ["trainer.algorithm.eps_clip_high=0.3"]):
        with pytest.raises(RecipeError, match="SkyRL's own settings"):
            train(mine, passed=other, resume=True)
    assert train(mine, passed=settings, resume=True)["steps_done"] == 1


def test_a_run_does_not_shrink(run, recipe):
    with pytest.raises(RecipeError, match="steps=4 or more"):
        train(dataclasses.replace(recipe, output=str(run[0]), steps=1), resume=True)


def test_a_lost_episode_of_an_evaluation_is_a_failure_and_not_a_maze_less(recipe, tmp_path, monkeypatch):
    step = MazeTextEnv.step

    def breaks(self, action):
        if self.dialogue.layout == recipe.split("eval")[0]:
            raise ValueError("broken")
        return step(self, action)

    monkeypatch.setattr(MazeTextEnv, "step", breaks)
    report = train(dataclasses.replace(recipe, output=str(tmp_path), steps=1, eval_every=9))
    for record in report["evaluations"]:
        assert record["report"]["episodes"] == recipe.eval_levels
        assert record["report"]["stop_reasons"]["error"] == 1


def test_a_torn_line_of_a_log_is_left_out(tmp_path):
    log = StepLog(tmp_path / "log.jsonl")
    for step in (1, 2, 3):
        log.append({"step": step})
    with log.path.open("a") as file:
        file.write('5\n{"no": 1}\n{"step": 4, "los')
    assert [r["step"] for r in log.read()] == [1, 2, 3]
    log.keep_up_to(2)
    assert log.path.read_text() == '{"step": 1}\n{"step": 2}\n'


def test_a_shaped_reward_parts_skyrls_pass_at_1_from_success(recipe, tmp_path):
    folder = tmp_path / "shaped"
    # Turns are too few for most mazes, so many episodes are cut off right after a step towards the goal.
    shaped = dataclasses.replace(
        recipe, output=str(folder), model="tiny", reward_progress=0.5, max_turns=9, eval_levels=16, steps=1
    )
    train(shaped)
    records = StepLog(folder / "evaluations.jsonl").read()
    for record in records:
        report = record["report"]
        assert report["successes"] / report["episodes"] <= record["pass_at_1"]
    assert any(record["pass_at_1"] > record["report"]["success_rate"] + 0.1 for record in records)
