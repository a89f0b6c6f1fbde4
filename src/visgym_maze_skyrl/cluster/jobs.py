"""How does one talk to a cluster's job server for hours? Sessions end and connections break; runs do not."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from visgym_maze_skyrl.cluster.address import ClusterError, check_address

RUN_KEY = "visgym_maze_run"
"""Name under which a job's metadata holds its run id."""

STOPPED = 130
"""Exit code for a run that somebody stopped."""


class Jobs:
    """The runs of one cluster, over Ray's job server.

    Args:
        address: The cluster.

    Raises:
        ClusterError: If the address is wrong, or nobody answers there.
    """

    def __init__(self, address: str) -> None:
        self.address = check_address(address)
        self._client = self._connect()

    def _connect(self) -> Any:
        # Ray asks for its version, so a client stands for a cluster that answers.
        try:
            from ray.job_submission import JobSubmissionClient

            return JobSubmissionClient(self.address)
        except ImportError as error:
            raise ClusterError(
                "jobs need the package ray; install the extra: pip install 'visgym-maze[cluster]'"
            ) from error
        except Exception as error:  # the toolkit of each scheme has exceptions of its own
            raise ClusterError(f"no job server at {self.address}: {_first_line(error)}") from error

    def ask(self, what: str, *arguments: Any, **named: Any) -> Any:
        """Call a method of Ray's client; over a new session if the old one has expired.

        Raises:
            ClusterError: If the server refuses.
        """
        try:
            return getattr(self._client, what)(*arguments, **named)
        except Exception as error:
            if not _is_expired(error):
                raise ClusterError(f"{self.address} refused {what}: {_first_line(error)}") from error
        self._client = self._connect()
        try:
            return getattr(self._client, what)(*arguments, **named)
        except Exception as error:
            raise ClusterError(f"{self.address} refused {what}: {_first_line(error)}") from error

    def of_run(self, run: str) -> list[Any]:
        """Ray's records of a run's jobs, oldest first: the one that began it and those that resumed it."""
        jobs = [job for job in self.ask("list_jobs") if (job.metadata or {}).get(RUN_KEY) == run]
        return sorted(jobs, key=lambda job: job.start_time or 0)

    def newest(self, run: str) -> Any:
        """The record of a run's last job.

        Raises:
            ClusterError: If the cluster knows of none, as after its head was lost.
        """
        jobs = self.of_run(run)
        if not jobs:
            raise ClusterError(
                f"{self.address} knows no run {run}; if its head was lost, the run goes on with: "
                f"visgym-maze-train resume {run} --runs FOLDER"
            )
        return jobs[-1]

    def follow(self, job: str, write: Callable[[str], object], pause: float = 2.0, tries: int = 30) -> Any:
        """Pass on what a job prints until it has ended; broken connections are made again.

        Args:
            job: Submission id.
            write: Takes pieces of text; every character once.
            pause: Seconds between two connections.
            tries: Connections in a row that may fail.

        Returns:
            Ray's record of the job.

        Raises:
            ClusterError: If the server stays away.
        """
        seen, failed = 0, 0
        while True:
            try:
                seen = asyncio.run(self._tail(job, write, seen))
                record = self.ask("get_job_info", job)
                if record.status.is_terminal():
                    write(self.ask("get_job_logs", job)[seen:])
                    return record
                failed = 0
            except ClusterError:
                failed += 1
                if failed >= tries:
                    raise
            time.sleep(pause)

    async def _tail(self, job: str, write: Callable[[str], object], seen: int) -> int:
        """Write what follows the first ``seen`` characters; returns how many there are by now."""
        position = 0
        try:
            async for text in self._client.tail_job_logs(job):
                position += len(text)
                if position > seen:
                    write(text[seen - position :])
                    seen = position
        except Exception as error:
            # Whether the server is there at all, the question that follows says.
            if _is_expired(error):
                self._client = self._connect()
        return seen


def exit_code(record: Any) -> int:
    """The exit code of a command that reports on this job: 0 while nothing has gone wrong."""
    status = str(record.status.value)
    if status == "FAILED":
        return record.driver_exit_code or 1
    return STOPPED if status == "STOPPED" else 0


def _is_expired(error: Exception) -> bool:
    if type(error).__name__ == "AuthenticationError" or getattr(error, "status", None) in (401, 403):
        return True
    return any(f"status code {code}" in str(error) for code in (401, 403))


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
