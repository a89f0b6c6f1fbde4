"""What happened in some episodes? ``visgym-maze replay``."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from visgym_maze.cli import options
from visgym_maze.cli.console import answer, note
from visgym_maze.dialogue.trajectory import Trajectory
from visgym_maze.files import write_bytes
from visgym_maze.replay import contact_sheet, episode_gif, group_of, read_trajectories, replay_page

EXAMPLES = (
    "visgym-maze replay runs/tiny/trajectories/step_000060_greedy.jsonl -o replay.html",
    "visgym-maze replay before.jsonl after.jsonl -o both.html",
    "visgym-maze replay rollouts.jsonl --episode 3 -o episode.gif",
    "visgym-maze replay rollouts.jsonl --episode 3 -o group.png",
)


def command(
    files: Annotated[list[Path], typer.Argument(help="Files of episodes, one a line.", metavar="FILE")],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            help="What to write: a page (.html), one episode (.gif), or its group side by side (.png).",
        ),
    ] = Path("replay.html"),
    episode: Annotated[
        int,
        options.whole("Which episode, for .gif and .png; the page shows the numbers.", "--episode", least=0),
    ] = 0,
    as_json: options.Json = False,
) -> None:
    """Look at episodes turn by turn, in a page that needs no network."""
    sources = _read(files)
    numbered = [(name, t) for name, trajectories in sources.items() for t in trajectories]
    episodes = [t for _, t in numbered]
    kind = out.suffix.lower()
    if kind not in (".html", ".gif", ".png"):
        raise ValueError(f"--out ends in .html, .gif or .png, got {out}")
    if episode >= len(episodes):
        raise ValueError(f"--episode {episode}: there are {len(episodes)}, numbered from 0")
    source, chosen = numbered[episode]
    if kind == ".html":
        data = replay_page(sources, ", ".join(sources)).encode()
    elif kind == ".gif":
        data = episode_gif(chosen)
    else:
        data = contact_sheet([t for t in sources[source] if group_of(t) == group_of(chosen)])
    write_bytes(out, data)
    record: dict[str, Any] = {
        "file": str(out),
        "bytes": len(data),
        "episodes": len(episodes),
        "solved": sum(t.success for t in episodes),
        "mazes": len({t.layout.key for t in episodes}),
    }
    seen = "{file}: {episodes} episodes, {solved} solved, {mazes} mazes" if kind == ".html" else "{file}"
    answer(record, as_json, seen.format(**record))


def _read(files: list[Path]) -> dict[str, list[Trajectory]]:
    """Episodes by the shortest name that tells their files apart."""
    stems = {path.stem for path in files}
    sources: dict[str, list[Trajectory]] = {}
    for path in files:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            sources[path.stem if len(stems) == len(files) else str(path)] = read_trajectories(path)
        for warning in warned:
            note(f"warning: {warning.message}")
    return sources
