"""What a run leaves to be looked at: dashboards, plots and a replay."""

import dataclasses
import html
import io
import json
import os

import pytest
from PIL import Image, ImageColor
from skyrl.train.utils.tracking import Tracking

from visgym_maze import GroupSampler, RandomPolicy, Report, Split, moves_within, rollout
from visgym_maze.replay import read_trajectories
from visgym_maze_skyrl import tracking
from visgym_maze_skyrl.plots import MODES, before_and_after, learning_curve, success_by_length
from visgym_maze_skyrl.recipe import RecipeError
from visgym_maze_skyrl.runlog import StepLog
from visgym_maze_skyrl.tracking import SHOWN, check_logger, kept_in, log_evaluation
from visgym_maze_skyrl.train import train
from visgym_maze_skyrl.trainer import Evaluation

pytestmark = pytest.mark.train

HOSTILE = "<script>alert(1)</script> | [x](javascript:1) \n# **_`\x00\ud800"


@pytest.fixture(scope="module")
def episodes():
    levels = Split.make("eval", size=7, n=12, max_moves=moves_within(15))
    played = rollout(RandomPolicy(seed=0), GroupSampler(levels, 1, shuffle=False).take(12))
    first = played[0].turns[0]._replace(text=HOSTILE)
    return [dataclasses.replace(played[0], turns=(first,)), *played[1:]]


@pytest.fixture
def evaluation(episodes):
    return Evaluation(3, "greedy", Report.of(episodes), episodes, 0.0)


@pytest.fixture(scope="module")
def offline_run(smoke, tmp_path_factory):
    """A whole run that logs to Weights & Biases without an account or a network."""
    folder = tmp_path_factory.mktemp("runs") / "offline"
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("WANDB_")]:
            patch.delenv(name)
        train(dataclasses.replace(smoke, output=str(folder), logger="wandb", steps=1))
        assert not [name for name in os.environ if name in ("WANDB_MODE", "WANDB_DIR")]
    return folder


def test_a_run_with_weights_and_biases_stays_offline_in_its_folder(offline_run, smoke):
    (run,) = (offline_run / "wandb").glob("offline-run-*")
    (record,) = run.glob("*.wandb")
    assert b"eval/greedy/successes" in record.read_bytes()
    for mode in ("greedy", "sampled"):
        pictures = sorted((run / "files/media/images/episodes" / mode).glob("ways_*.png"))
        assert [path.name.split("_")[1] for path in pictures] == ["0", "1"]
        last = sorted((run / "files/media/table/episodes" / mode).glob("table_1_*.json"))
        table = json.loads(last[0].read_text())
        assert table["columns"] == list(tracking.COLUMNS)
        assert [row[0] for row in table["data"]] == [0] * smoke.eval_levels + [1] * smoke.eval_levels


def test_a_run_leaves_its_groups_plots_and_a_replay(offline_run, smoke):
    groups = read_trajectories(offline_run / "rollouts" / "step_000001.jsonl")
    assert len(groups) == smoke.mazes_per_step * smoke.group_size
    for name in ("curve", "by_length", "before_after"):
        assert f"({name}.png)" in (offline_run / "report.md").read_text()
        Image.open(offline_run / f"{name}.png").load()
    assert "(replay.html)" in (offline_run / "report.md").read_text()
    assert "Content-Security-Policy" in (offline_run / "replay.html").read_text()


def test_tensorboard_gets_a_picture_and_a_table_in_which_nothing_is_markup(tmp_path, evaluation):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with kept_in(tmp_path):
        tracker = Tracking("mazes", "test", "tensorboard")
    log_evaluation(tracker, evaluation)
    tracker.finish()
    events = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    (picture,) = events.Images("episodes/greedy/ways")
    assert picture.step == 3
    Image.open(io.BytesIO(picture.encoded_image_string)).load()
    (text,) = events.Tensors("episodes/greedy/table/text_summary")
    table = text.tensor_proto.string_val[0].decode().split("\n")
    assert len(table) == 2 + SHOWN
    cell = table[2].split(" | ")[-1].removesuffix(" |")
    assert not set("<>[]()*_`#|") & set(cell.replace("&#", ""))
    assert html.unescape(cell).startswith("<script>alert(1)</script> | [x](javascript:1)")


def test_the_console_gets_neither(evaluation):
    log_evaluation(Tracking("mazes", "test", "console"), evaluation)


def test_what_the_environment_says_wins_over_the_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("WANDB_MODE", "online")
    with kept_in(tmp_path):
        assert os.environ["WANDB_MODE"] == "online"
        assert os.environ["WANDB_DIR"] == str(tmp_path)
    assert os.environ["WANDB_MODE"] == "online"


def test_a_logger_whose_package_is_missing_is_refused_with_the_remedy(monkeypatch):
    monkeypatch.setattr(tracking.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(RecipeError, match=r"pip install 'visgym-maze\[wandb\]'"):
        check_logger("wandb")
    check_logger("tensorboard")


def records(episodes, *steps):
    report = json.loads(json.dumps(Report.of(episodes).to_dict()))
    return [
        {"step": step, "mode": mode, "report": report} for step in steps for mode in ("greedy", "sampled")
    ]


@pytest.mark.parametrize("steps", [(0,), (0, 5, 9)])
@pytest.mark.parametrize("plot", [learning_curve, success_by_length])
def test_plots_of_one_and_of_many_evaluations(episodes, steps, plot):
    picture = Image.open(io.BytesIO(plot(records(episodes, *steps), "test")))
    colours = {colour for _, colour in picture.convert("RGB").getcolors(1 << 24)}
    assert {ImageColor.getrgb(colour) for _, colour in MODES} <= colours


def test_before_and_after_pairs_episodes_of_one_maze(episodes):
    picture = Image.open(io.BytesIO(before_and_after(episodes, episodes[::-1], count=5)))
    upper, lower = (picture.crop((0, top, picture.width, top + 230)) for top in (8, picture.height // 2 + 4))
    assert upper.tobytes() == lower.tobytes()
    with pytest.raises(ValueError, match="at least one episode"):
        before_and_after(episodes[:1], episodes[1:])


def test_evaluations_of_a_folder_without_episodes_still_make_a_report(offline_run, smoke, tmp_path):
    from visgym_maze_skyrl.report import write_report

    for name in ("evaluations", "metrics"):
        (tmp_path / f"{name}.jsonl").write_bytes((offline_run / f"{name}.jsonl").read_bytes())
    write_report(tmp_path, smoke, backend="local")
    assert StepLog(tmp_path / "evaluations.jsonl").read()
    assert (tmp_path / "curve.png").is_file()
    assert not (tmp_path / "replay.html").exists()
    assert "replay.html" not in (tmp_path / "report.md").read_text()
