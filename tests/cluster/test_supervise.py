"""The supervisor: faults are survived, mistakes are not repeated, a stop is a stop."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from visgym_maze_skyrl.cluster.resources import wait_for
from visgym_maze_skyrl.cluster.supervise import GAVE_UP, Supervisor, chosen_backend
from visgym_maze_skyrl.dataset import train_dataset
from visgym_maze_skyrl.recipe import RECIPES, override
from visgym_maze_skyrl.runlog import StepLog

pytestmark = pytest.mark.train

SETTINGS = [
    "max_turns=9",
    "max_new_tokens=5",
    "eval_levels=2",
    "threads=1",
    "eval_every=100",
    "checkpoint_every=2",
]


def start(folder, *settings, options=("--pause", "0.1")):
    command = [sys.executable, "-m", "visgym_maze_skyrl.cluster.supervise", "--recipe", "smoke", *options]
    environment = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    return subprocess.Popen(
        [*command, "--backend", "local", f"output={folder}", *SETTINGS, *settings],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment | {"OMP_NUM_THREADS": "1"},
    )


def trainer_of(process):
    """Process id of the supervisor's child."""
    deadline = time.monotonic() + 60
    children: list[str] = []
    while not children:
        assert time.monotonic() < deadline
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        time.sleep(0.01)
    return int(children[0])


def wait_for_step(process, folder, step):
    log = StepLog(folder / "metrics.jsonl")
    deadline = time.monotonic() + 120
    while not any(record["step"] >= step for record in log.read()):
        assert process.poll() is None, process.stdout.read()
        assert time.monotonic() < deadline
        time.sleep(0.02)


def played(folder):
    """Keys of the mazes of every step, as the episodes say."""
    log = StepLog(folder / "groups.jsonl").read()
    return {r["step"]: [key for group in r["groups"] for key in group["keys"]] for r in log}


def planned(*settings):
    """The same of a run that nothing interrupts."""
    recipe, _ = override(RECIPES["smoke"], [*SETTINGS, *settings])
    keys = [group.layout.key for group in train_dataset(recipe).groups]
    size = recipe.mazes_per_step
    return {step + 1: keys[step * size : (step + 1) * size] for step in range(recipe.steps)}


def test_a_killed_trainer_is_started_again_and_plays_the_same_mazes(tmp_path):
    killed = tmp_path / "killed"
    process = start(killed, "steps=5")
    wait_for_step(process, killed, 3)
    os.kill(trainer_of(process), signal.SIGKILL)
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output
    assert "the trainer was killed by SIGKILL at step 3" in output
    assert "resuming after step 2" in output
    assert played(killed) == planned("steps=5")
    assert json.loads((killed / "report.json").read_text())["steps_done"] == 5

    again = start(killed, "steps=5")  # a complete run starts no trainer
    output, _ = again.communicate(timeout=300)
    assert again.returncode == 0
    assert output.startswith("supervise: the run is complete")


def test_a_stop_ends_the_step_with_a_checkpoint_and_takes_the_trainer_along(tmp_path):
    folder = tmp_path / "run"
    process = start(folder, "steps=500", "checkpoint_every=400")
    wait_for_step(process, folder, 1)
    trainer = trainer_of(process)
    os.kill(trainer, signal.SIGTERM)  # Ray sends it to every process of a job
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 128 + signal.SIGTERM, output
    assert "stopped; a resumed run goes on" in output
    assert "fault" not in output
    done = StepLog(folder / "metrics.jsonl").read()[-1]["step"]
    assert (folder / "checkpoints" / "latest_ckpt_global_step.txt").read_text() == str(done)
    with pytest.raises(ProcessLookupError):
        os.kill(trainer, 0)


def test_the_trainer_dies_with_its_supervisor(tmp_path):
    process = start(tmp_path / "run", "steps=500")
    deadline = time.monotonic() + 60
    with process.stdout as output:
        assert "training starts" in output.readline()
        trainer = trainer_of(process)
        while not ignores_sigterm(trainer):  # it has tied itself to the supervisor with that
            assert time.monotonic() < deadline
            time.sleep(0.02)
        time.sleep(0.2)
        process.kill()
        process.wait()
    while not is_gone(trainer):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def ignores_sigterm(pid):
    status = Path(f"/proc/{pid}/status").read_text()
    ignored = next(line.split()[1] for line in status.splitlines() if line.startswith("SigIgn"))
    return bool(int(ignored, 16) >> (signal.SIGTERM - 1) & 1)


def is_gone(pid):
    """Whether a process has ended; where nobody waits for orphans, it stays as a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_a_mistake_in_the_settings_is_not_tried_again(tmp_path):
    process = start(tmp_path / "run", "model=/there/is/no/model")
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 2
    assert "does not exist" in output
    assert output.count("training starts") == 1


class Scripted(Supervisor):
    """A supervisor whose trainer is a list of (exit code, step reached)."""

    def script(self, *attempts):
        self.attempts = list(attempts)
        self.step = 0
        return self.run()

    def _attempt(self):
        code, self.step = self.attempts.pop(0)
        return code

    def _last_step(self):
        return getattr(self, "step", 0)

    def _is_complete(self):
        return self._last_step() >= self.recipe.steps


@pytest.fixture
def scripted(tmp_path, monkeypatch):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    old = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    recipe = dataclasses.replace(RECIPES["smoke"], steps=10, output=str(tmp_path))
    yield Scripted(recipe, "local", [], faults=2, pause=0.0)
    for number, handler in old.items():
        signal.signal(number, handler)


def test_without_progress_the_budget_ends(scripted, capsys):
    assert scripted.script((1, 0), (-9, 0), (1, 0)) == GAVE_UP
    assert scripted.attempts == []
    assert capsys.readouterr().out.count("fault:") == 3


def test_progress_refills_the_budget(scripted):
    faults = [(1, 1), (1, 1), (1, 1)]
    # Steps that a fault has taken back are no progress when they are done once more.
    assert scripted.script(*faults[:2], (1, 4), (1, 3), (1, 4)) == GAVE_UP
    assert scripted.script(*faults[:2], (1, 4), (1, 4), (1, 5), (0, 10)) == 0


def test_an_end_before_the_last_step_is_a_fault(scripted, capsys):
    assert scripted.script((0, 3), (0, 10)) == 0
    assert "ended before its last step" in capsys.readouterr().out


def test_nodes_are_waited_for_and_what_is_missing_is_said_once():
    counts, said = iter([0.0, 4.0, 4.0, 6.0]), []
    options = {"say": said.append, "stopped": lambda: False, "pause": 0.0, "look": lambda kind: next(counts)}
    assert wait_for("GPU", 6, seconds=60, **options)
    assert said == ["waiting for 6 GPU, 0 on living nodes", "waiting for 6 GPU, 4 on living nodes"]
    assert not wait_for("GPU", 6, seconds=0, **{**options, "look": lambda kind: 4.0})
    assert not wait_for("GPU", 6, seconds=60, **{**options, "stopped": lambda: True})


def test_a_recipe_with_gpus_trains_on_those_of_the_cluster():
    assert chosen_backend(RECIPES["hyperpod-qwen3-vl-8b"], "auto") == "skyrl"
    assert chosen_backend(RECIPES["hyperpod-qwen3-vl-8b"], "local") == "local"
