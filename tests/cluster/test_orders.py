"""A run's folder is enough to go on with it: what the supervisor was told is kept there."""

import json

import pytest

from visgym_maze.files import locked
from visgym_maze_skyrl.cluster import attempt, placed, run, submit
from visgym_maze_skyrl.cluster.jobs import Jobs
from visgym_maze_skyrl.cluster.orders import ORDERS_FILE, record, recorded
from visgym_maze_skyrl.cluster.supervise import BAD_SETTINGS, main
from visgym_maze_skyrl.recipe import RECIPES, RecipeError, override
from visgym_maze_skyrl.runlog import record_run

pytestmark = pytest.mark.train
SMOKE = RECIPES["smoke"]


def test_arguments_are_kept_and_those_of_a_continued_run_replace_them(tmp_path):
    folder = tmp_path / "run"
    record(folder, ["--recipe", "smoke", "steps=2"], SMOKE, [])
    record_run(folder, SMOKE, [])
    longer, _ = override(SMOKE, ["steps=9"])
    record(folder, ["--recipe", "smoke", "steps=9"], longer, [])
    assert recorded(folder) == ["--recipe", "smoke", "steps=9"]


def test_other_settings_change_nothing(tmp_path):
    record(tmp_path, ["--recipe", "smoke"], SMOKE, [])
    record_run(tmp_path, SMOKE, [])
    other, _ = override(SMOKE, ["seed=7"])
    with pytest.raises(RecipeError, match="seed=0, now it is 7"):
        record(tmp_path, ["--recipe", "smoke", "seed=7"], other, [])
    assert recorded(tmp_path) == ["--recipe", "smoke"]


@pytest.mark.parametrize(
    ("text", "message"),
    [(None, "--runs"), ("[1", "cannot be read"), ('{"a": 1}', "no list"), ("[1]", "no list")],
)
def test_a_folder_without_a_record_is_named(tmp_path, text, message, capsys):
    if text is not None:
        (tmp_path / ORDERS_FILE).write_text(text)
    assert main(["--again", str(tmp_path)]) == BAD_SETTINGS
    error = capsys.readouterr().err
    assert message in error
    assert str(tmp_path) in error


class NewHead(Jobs):
    """A cluster that knows no run."""

    def __init__(self):
        self.address, self.sent = "http://127.0.0.1:1", []

    def ask(self, what, *arguments, **named):
        if what == "list_jobs":
            return []
        self.sent.append(named)
        return named["submission_id"]


def test_a_run_that_the_cluster_does_not_know_is_resumed_from_its_folder():
    jobs = NewHead()
    assert submit.resume(jobs, "mine", "/fsx/runs/") == "mine"
    assert jobs.sent[0]["entrypoint"].endswith("visgym_maze_skyrl.cluster.supervise --again /fsx/runs/mine")
    with pytest.raises(RecipeError, match="small letters"):
        submit.resume(jobs, "../mine", "/fsx/runs")
    with pytest.raises(RecipeError, match="absolute path"):
        submit.resume(jobs, "mine", "runs")


def test_a_folder_that_another_trainer_still_holds_is_no_mistake_in_the_settings(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(attempt, "_belong_to", lambda supervisor: None)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with locked(tmp_path, AssertionError("it is free")):
        code = attempt.main(["1", "--recipe", "smoke", "--backend", "local", f"output={tmp_path}"])
    assert code == attempt.IN_USE != BAD_SETTINGS
    assert "another run is writing" in capsys.readouterr().err


@pytest.mark.parametrize("task", [placed._train, run._train])
def test_ray_itself_never_repeats_a_training(task):
    assert task._default_options["max_retries"] == 0


def test_the_record_is_json(tmp_path):
    record(tmp_path, ["a=1"], SMOKE, [])
    assert json.loads((tmp_path / ORDERS_FILE).read_text()) == ["a=1"]
