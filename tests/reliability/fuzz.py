"""Does anything that a model says break the parser, an episode, a record, a report or a replay?

Hostile answers are played in episodes under a reward that pays for everything it can. Each answer is read in
every dialect, and what is true of any answer is checked.

    python tests/reliability/fuzz.py --answers 1000000 --out docs/results/reliability/fuzz.json
    python tests/reliability/fuzz.py --answers 20000 --seed 7
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress

sys.path.insert(0, str(Path(__file__).parent))
from hostile import answer

from visgym_maze import MazeDialogue, RewardSpec, Split, StopReason, Trajectory
from visgym_maze.dialogue.dialects import DIALECTS, FailureReason
from visgym_maze.dialogue.parsing import ParsedAction, parse
from visgym_maze.evaluation import Report
from visgym_maze.files import write_text
from visgym_maze.replay.page import replay_page
from visgym_maze.report_files import to_markdown
from visgym_maze.world.dynamics import Action

LONGEST_FEEDBACK = 200
"""Characters of what a policy is told about its last answer."""

PAYS = RewardSpec(format=0.2, progress=0.5)
_REPORTED_EVERY = 500  # episodes
_MAZES = 64


class Fuzz:
    """One run of the fuzzer; see the module's text.

    Args:
        seed: Decides every answer.
        longest: Characters of the longest answer.
    """

    def __init__(self, seed: int, longest: int = 1_000_000) -> None:
        self.rng = np.random.default_rng(seed)
        self.longest = longest
        self.mazes = list(Split.make("train", 7, _MAZES, max_moves=14))
        self.answers = self.episodes = 0
        self.outcomes: Counter[str] = Counter()
        self.slowest = 0.0
        self.longest_seen = 0
        self._kept: list[Trajectory] = []

    def run(self, answers: int, watch: Callable[[int], Any] = lambda _: None) -> dict[str, Any]:
        """Play until so many answers were given."""
        started = time.perf_counter()
        while self.answers < answers:
            self._episode()
            watch(self.answers)
        self._report()
        return {
            "answers": self.answers,
            "episodes": self.episodes,
            "longest_answer": self.longest_seen,
            "slowest_microseconds_per_1000_characters": round(self.slowest * 1e9, 1),
            "outcomes": dict(self.outcomes.most_common()),
            "seconds": round(time.perf_counter() - started, 1),
        }

    def _episode(self) -> None:
        rule, dialect = ("stop", "reach")[self.rng.integers(2)], [*DIALECTS][self.rng.integers(len(DIALECTS))]
        maze = self.mazes[self.rng.integers(_MAZES)]
        episode = MazeDialogue(
            maze, observe="text", reward=PAYS, goal_rule=rule, dialect=dialect,
            max_moves_per_turn=int(self.rng.integers(1, 4)),
        )  # fmt: skip
        episode.reset()
        while not episode.done:
            text = answer(self.rng, self.longest)
            self._read(text)
            self.answers += 1
            turn = episode.step(text).turn
            self.outcomes[turn.failure or "action"] += 1
            assert len(turn.feedback) <= LONGEST_FEEDBACK, turn.feedback
            assert turn.feedback.isprintable(), turn.feedback
            assert turn.failure is None or (turn.path == () and not turn.bumped), text
            assert text not in turn.feedback or len(text) < 12, "feedback repeats what was said"
        self.episodes += 1
        self._judge(episode)

    def _read(self, text: str) -> None:
        """Every dialect reads it or says why not, in a time that its length bounds."""
        self.longest_seen = max(self.longest_seen, len(text))
        for dialect in DIALECTS:
            started = time.thread_time()
            read = parse(text, dialect, 3)
            spent = time.thread_time() - started
            # Below some thousand characters the clock measures the call.
            if len(text) > 5_000:
                self.slowest = max(self.slowest, spent / len(text))
            if isinstance(read, ParsedAction):
                assert 1 <= len(read.actions) <= 3
                assert all(word in text for word in _evidence(read, dialect)), text
            else:
                assert read.reason in FailureReason

    def _judge(self, episode: MazeDialogue) -> None:
        """The reward is for what was done, and the record says all of it."""
        trajectory = episode.trajectory(group=0, rollout=0)
        succeeded = trajectory.stop_reason is StopReason.GOAL
        assert not succeeded or episode.cell == trajectory.layout.goal
        if not any(turn.path for turn in trajectory.turns):
            assert trajectory.total_reward <= 0, "an agent that never moved was paid"
        assert succeeded or trajectory.total_reward < PAYS.success
        # JSON makes one character of two halves of a surrogate pair.
        expected = replace(
            trajectory, turns=tuple(t._replace(text=_joined(t.text)) for t in trajectory.turns)
        )
        assert Trajectory.from_dict(json.loads(json.dumps(trajectory.to_dict()))) == expected
        if self.episodes % 50 == 0:
            self._kept.append(trajectory)
        if len(self._kept) >= 100:
            self._report()

    def _report(self) -> None:
        if not self._kept:
            return
        page = replay_page({"fuzz": self._kept})
        assert page.count("<script") == page.count("</script>")
        assert "alert(1)" not in page
        to_markdown(Report.of(self._kept, goal_rule="stop")).encode()
        self._kept = []


def _joined(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _evidence(read: ParsedAction, dialect: str) -> list[str]:
    """What an answer must hold literally for these actions to be in it."""
    numbered = dialect == "tuple"
    return [str(int(a)) if numbered and a is not Action.STOP else a.word for a in read.actions]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--answers", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="also write the result to this file")
    arguments = parser.parse_args()
    with Progress(console=Console(stderr=True)) as progress:
        bar = progress.add_task("answers", total=arguments.answers)
        options = f"--answers {arguments.answers} --seed {arguments.seed}"
        result = {
            "command": f"python tests/reliability/fuzz.py {options}",
            **Fuzz(arguments.seed).run(arguments.answers, lambda done: progress.update(bar, completed=done)),
        }
    print(json.dumps(result, indent=1))
    if arguments.out:
        write_text(arguments.out, json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
