"""Does an answer exist that breaks the parser? libFuzzer looks for one, led by the lines that run (atheris).

    pip install atheris
    python tests/reliability/coverage_guided.py -runs=1000000

All options are libFuzzer's. An answer that breaks something is written to a file ``crash-...``.
"""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["visgym_maze.dialogue"]):
    from visgym_maze.dialogue.dialects import DIALECTS, FailureReason
    from visgym_maze.dialogue.parsing import ParsedAction, parse, spell
    from visgym_maze.world.dynamics import Action

SEEDS = [spell(action, dialect) for dialect in DIALECTS for action in Action]


def one_input(data: bytes) -> None:
    """Read one answer in every dialect."""
    text = data.decode("utf-8", "surrogateescape")
    for dialect in DIALECTS:
        read = parse(text, dialect, 3)
        if isinstance(read, ParsedAction):
            assert 1 <= len(read.actions) <= 3
        else:
            assert read.reason in FailureReason


def mutate(data: bytes, most: int, seed: int) -> bytes:
    """libFuzzer's own mutations, begun from a valid answer now and then."""
    if seed % 16 == 0:
        data = SEEDS[seed // 16 % len(SEEDS)].encode()
    return atheris.Mutate(data, most)


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input, custom_mutator=mutate)
    atheris.Fuzz()
