"""What is sent to a cluster, and what never leaves this machine."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from visgym_maze_skyrl.cluster import jobs as jobs_module
from visgym_maze_skyrl.cluster import package
from visgym_maze_skyrl.cluster.address import ClusterError, check_address
from visgym_maze_skyrl.cluster.command import main
from visgym_maze_skyrl.cluster.jobs import Jobs, exit_code
from visgym_maze_skyrl.cluster.package import pack, packed_files
from visgym_maze_skyrl.cluster.submit import Submission
from visgym_maze_skyrl.train import main as train_main

pytestmark = pytest.mark.train


@pytest.mark.parametrize(
    ("address", "checked"),
    [
        ("http://10.0.0.1:8265/", "http://10.0.0.1:8265"),
        ("https://ray.example.org", "https://ray.example.org"),
        ("http://[::1]:8265", "http://[::1]:8265"),
    ],
)
def test_addresses_of_dashboards(address, checked):
    assert check_address(address) == checked


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("10.0.0.1:8265", "has no scheme"),
        ("", "has no scheme"),
        ("ray://10.0.0.1:10001", "http://HOST:8265"),
        ("ftp://host", "unknown scheme 'ftp'"),
        ("http://", "names no host"),
        ("http://host:port", "names no host"),
        ("http://host:8265/jobs", "write http://host:8265"),
        ("http://me:secret@host:8265", "leave it out"),
        ("sagemaker_ray://", "cannot be a cluster"),
        ("sagemaker_ray://Cluster_1", "cannot be a cluster"),
        ("sagemaker_ray://cluster/name/space", "cannot be a namespace"),
    ],
)
def test_a_wrong_address_is_named_with_the_remedy(address, message):
    with pytest.raises(ClusterError, match=message) as error:
        check_address(address)
    assert "secret" not in str(error.value)


def test_hyperpod_needs_its_toolkit_and_a_kubeconfig(monkeypatch, tmp_path):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ClusterError, match=r"visgym-maze\[hyperpod\]"):
        check_address("sagemaker_ray://visgym/team-a")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    with pytest.raises(ClusterError, match="aws eks update-kubeconfig"):
        check_address("sagemaker_ray://visgym/team-a")
    (tmp_path / "config").touch()
    assert check_address("sagemaker_ray://visgym/team-a/") == "sagemaker_ray://visgym/team-a"


def test_the_package_is_small_and_holds_nothing_that_is_not_on_the_list(tmp_path, monkeypatch):
    for name in ("visgym_maze", "visgym_maze_skyrl"):
        root = tmp_path / "site" / name
        secrets = (".env", "key.pem", "runs/model.safetensors", ".cache/x.py", "assets/m/optim.pt")
        for path in ("__init__.py", "assets/m/config.json", *secrets):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(path)
        monkeypatch.setattr(package, name, SimpleNamespace(__file__=str(root / "__init__.py")))
    allowed = ["visgym_maze/__init__.py", "visgym_maze/assets/m/config.json"]
    allowed += [name.replace("visgym_maze/", "visgym_maze_skyrl/") for name in allowed]
    assert sorted(packed_files()) == sorted(allowed)


def test_the_package_is_complete(tmp_path):
    pack(tmp_path)
    assert sum(path.stat().st_size for path in packed_files().values()) < 3_000_000
    code = (
        "import visgym_maze, visgym_maze_skyrl.train as t, sys;"
        "assert all(m.__file__.startswith(sys.argv[1]) for m in (visgym_maze, t));"
        "from visgym_maze_skyrl.assets import tiny_model_folder;"
        "assert (tiny_model_folder() / 'model.safetensors').is_file()"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=tmp_path, check=True)


def test_a_dry_run_shows_everything_and_asks_nobody(capsys):
    argv = ["submit", "--address", "http://127.0.0.1:9", "--dry-run", "--run-id", "r1", "--recipe", "smoke"]
    assert main([*argv, "steps=3"]) == 0
    output = capsys.readouterr().out
    assert "visgym_maze_skyrl.cluster.supervise --recipe smoke" in output
    assert "output=/shared/runs/r1 steps=3" in output
    assert "visgym_maze_skyrl/train.py" in output


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--recipe", "tinny"], "did you mean 'tiny'"),
        (["setps=3"], "did you mean 'steps'"),
        (["--run-id", "../x"], "is not made of small letters"),
        (["--runs", "runs"], "absolute path"),
        (["output=/tmp/x"], "--runs"),
        ([], "no job server at http://127.0.0.1:9"),
    ],
)
def test_a_mistake_is_found_before_anything_is_sent(argv, message, capsys):
    assert main(["submit", "--address", "http://127.0.0.1:9", *argv]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert message in error


def test_the_example_submits_too(capsys):
    assert train_main(["--submit", "10.0.0.1:8265", "--recipe", "smoke", "steps=3"]) == 2
    assert "has no scheme" in capsys.readouterr().err
    assert train_main(["--submit", "http://10.0.0.1:8265", "--resume"]) == 2
    assert "visgym-maze-train resume RUN" in capsys.readouterr().err


def test_unknown_commands_and_help(capsys):
    assert main(["sumbit"]) == 2
    assert "known: run, submit, status" in capsys.readouterr().err
    assert main([]) == 0
    assert "resume RUN" in capsys.readouterr().out


def test_a_run_id_fixes_the_folder():
    submission = Submission.of("tiny", [], runs="/fsx/runs", run="a-1", backend="auto", faults=3)
    assert submission.entrypoint.endswith("output=/fsx/runs/a-1")
    named = Submission.of("smoke", [], runs="/fsx", run=None, backend="auto", faults=3)
    assert named.run.startswith("smoke-2")
    assert named.entrypoint.endswith(f"output=/fsx/{named.run}")


def record(status, code=None):
    terminal = status not in ("PENDING", "RUNNING")
    state = SimpleNamespace(value=status, is_terminal=lambda: terminal)
    return SimpleNamespace(status=state, driver_exit_code=code)


@pytest.mark.parametrize(
    ("job", "code"),
    [
        (record("RUNNING"), 0),
        (record("SUCCEEDED", 0), 0),
        (record("FAILED", 3), 3),
        (record("FAILED"), 1),
        (record("STOPPED"), 130),
    ],
)
def test_exit_codes_follow_the_job(job, code):
    assert exit_code(job) == code


class Expiring:
    """A client whose session ends after its first answer and whose log breaks off in mid-line."""

    made = 0

    def __init__(self):
        type(self).made += 1
        self.answers = 1

    def get_job_info(self, job):
        self.answers -= 1
        if self.answers < 0:
            raise RuntimeError("Request failed with status code 401: session expired.")
        return record("SUCCEEDED" if type(self).made > 2 else "RUNNING", 0)

    def get_job_logs(self, job):
        return "one\ntwo\nthree\nfour\n"

    async def tail_job_logs(self, job):
        yield "one\n"
        yield "two\nth" if type(self).made == 1 else "two\nthree\n"
        raise RuntimeError("WebSocket connection closed unexpectedly with close code 1006")


def test_following_survives_broken_connections_and_expired_sessions(monkeypatch):
    monkeypatch.setattr(Jobs, "_connect", lambda self: Expiring())
    monkeypatch.setattr(jobs_module.time, "sleep", lambda seconds: None)
    written = []
    assert Jobs("http://127.0.0.1:1").follow("r1", written.append).status.value == "SUCCEEDED"
    assert "".join(written) == "one\ntwo\nthree\nfour\n"
    assert Expiring.made == 3
