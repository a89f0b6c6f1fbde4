"""What does ``visgym-maze-train`` do? Trains here or elsewhere, follows, stops, resumes, publishes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from visgym_maze_skyrl.backend import BACKENDS
from visgym_maze_skyrl.cluster.address import HELP, ClusterError, check_address
from visgym_maze_skyrl.cluster.jobs import STOPPED, Jobs, exit_code
from visgym_maze_skyrl.cluster.package import packed_files
from visgym_maze_skyrl.cluster.submit import Submission, resume, submit
from visgym_maze_skyrl.recipe import RECIPES, RecipeError

HELP_TEXT = """usage: visgym-maze-train COMMAND ...

  run                 train on this machine; options as of examples/train_grpo.py
  submit              start a run on a cluster and follow it; prints its run id
  status RUN          say how a run is
  logs RUN            follow what a run prints until it ends
  stop RUN            end a run after its step, with a checkpoint
  resume RUN          go on from the newest checkpoint, or follow the run if it is going on
  publish FOLDER URL  check an adapter and put it into S3, where servers load it from

All but run and publish take --address: """


def main(argv: list[str] | None = None) -> int:
    """Run the command; returns the exit code, that of the job where one has ended (2 for bad input)."""
    name, *rest = (sys.argv[1:] if argv is None else argv) or ["--help"]
    if name == "run":
        from visgym_maze_skyrl.train import main as run

        return run(rest)
    if name == "publish":
        from visgym_maze_skyrl.publish import main as publish

        return publish(rest)
    if name in ("-h", "--help"):
        print(HELP_TEXT + HELP)
        return 0
    if name not in _COMMANDS:
        known = ", ".join(["run", *_COMMANDS, "publish"])
        print(f"error: unknown command {name!r}; known: {known}", file=sys.stderr)
        return 2
    try:
        return _COMMANDS[name](_parser(name).parse_intermixed_args(rest))
    except (ClusterError, RecipeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _parser(name: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"visgym-maze-train {name}")
    parser.add_argument("--address", required=True, help=HELP)
    if name in ("submit", "resume"):
        parser.add_argument("--no-wait", action="store_true", help="do not follow what the run prints")
        parser.add_argument("--runs", default="/shared/runs", metavar="FOLDER", help="default: /shared/runs")
    if name != "submit":
        parser.add_argument("run", metavar="RUN", help="run id")
        return parser
    parser.add_argument("--run-id", metavar="RUN", help="names job and folder (default: recipe and time)")
    parser.add_argument("--recipe", default="tiny", metavar="NAME", help=f"one of {', '.join(RECIPES)}")
    parser.add_argument("--backend", default="auto", choices=BACKENDS, help="default: by recipe and cluster")
    parser.add_argument("--faults", type=int, default=3, help="restarts without a new step (default: 3)")
    parser.add_argument("--dry-run", action="store_true", help="show what would be sent, and send nothing")
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="change a field of the recipe")
    return parser


def _submit(a: argparse.Namespace) -> int:
    submission = Submission.of(
        a.recipe, a.overrides, runs=a.runs, run=a.run_id, backend=a.backend, faults=a.faults
    )
    if a.dry_run:
        return _show(check_address(a.address), submission)
    jobs = Jobs(a.address)
    return _follow(jobs, submission.run, submit(jobs, submission), wait=not a.no_wait)


def _resume(a: argparse.Namespace) -> int:
    jobs = Jobs(a.address)
    return _follow(jobs, a.run, resume(jobs, a.run, a.runs), wait=not a.no_wait)


def _logs(a: argparse.Namespace) -> int:
    jobs = Jobs(a.address)
    return _follow(jobs, a.run, str(jobs.newest(a.run).submission_id), wait=True)


def _status(a: argparse.Namespace) -> int:
    jobs = Jobs(a.address)
    last = jobs.newest(a.run)
    for record in jobs.of_run(a.run):
        code = "" if record.driver_exit_code is None else f" exit code {record.driver_exit_code}"
        print(f"{record.submission_id}  {record.status.value}{code}")
    return exit_code(last)


def _stop(a: argparse.Namespace) -> int:
    jobs = Jobs(a.address)
    job = str(jobs.newest(a.run).submission_id)
    if not jobs.ask("stop_job", job):
        print(f"{job} has ended already")
        return 0
    print(f"{job} ends after its step, with a checkpoint; see: {_again('status', jobs, a.run)}")
    return 0


def _follow(jobs: Jobs, run: str, job: str, *, wait: bool) -> int:
    print(f"run {run} is job {job}; come back to it: {_again('logs', jobs, run)}", flush=True)
    if not wait:
        return 0
    try:
        record = jobs.follow(job, lambda text: print(text, end="", flush=True))
    except KeyboardInterrupt:
        print(f"\nthe run goes on; come back to it: {_again('logs', jobs, run)}", file=sys.stderr)
        return STOPPED
    print(f"run {run}: {record.status.value}")
    return exit_code(record)


def _again(command: str, jobs: Jobs, run: str) -> str:
    return f"visgym-maze-train {command} {run} --address {jobs.address}"


def _show(address: str, submission: Submission) -> int:
    print(f"address     {address}\nrun id      {submission.run}\nentrypoint  {submission.entrypoint}")
    files = packed_files()
    for name, path in files.items():
        print(f"{path.stat().st_size:>9}  {name}")
    print(f"{sum(path.stat().st_size for path in files.values()):>9}  bytes in {len(files)} files")
    return 0


_COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "submit": _submit,
    "status": _status,
    "logs": _logs,
    "stop": _stop,
    "resume": _resume,
}


if __name__ == "__main__":
    sys.exit(main())
