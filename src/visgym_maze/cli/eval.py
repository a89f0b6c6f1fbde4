"""How good is a policy? ``visgym-maze eval``."""

from __future__ import annotations

from contextlib import nullcontext
from hashlib import sha256
from pathlib import Path
from typing import Annotated

import typer
from rich.markdown import Markdown

from visgym_maze.cli import options
from visgym_maze.cli.choosing import choose
from visgym_maze.cli.console import answer, note
from visgym_maze.cli.folder import claimed
from visgym_maze.cli.measuring import mazes_of, play_all, refuse_lost, unlike_training
from visgym_maze.dialogue.episode import MazeDialogue
from visgym_maze.report_files import to_markdown, write_report
from visgym_maze.rollouts import ON_ERROR
from visgym_maze.suites import SUITES, describe
from visgym_maze.world.splits import levels_key

EXAMPLES = (
    "visgym-maze eval --policy oracle",
    "visgym-maze eval --policy random --suite test-1024 --seed 1 --out results/random",
    "visgym-maze eval --policy FOLDER --adapter FOLDER --split eval.json --prompt brief --style patch16",
    "visgym-maze eval --policy mine:answer --concurrency 4 --out results/mine",
    "visgym-maze eval --endpoint http://localhost:8000/v1 --model NAME --out results/served",
    "visgym-maze eval --endpoint https://api.example.com/v1 --model NAME --key-env API_KEY --out paid",
)

_ASKED = "How it is asked"


def command(
    policy: Annotated[
        str | None,
        typer.Option(
            help="oracle, random, a model folder, or module:callable (from messages to an answer).",
            autocompletion=options.names(["oracle", "random"]),
        ),
    ] = None,
    suite: Annotated[str | None, options.one_of("Test suite", SUITES, "--suite")] = None,
    split: Annotated[
        Path | None, typer.Option(help="Mazes of a manifest, as `visgym-maze split` writes it.")
    ] = None,
    limit: Annotated[int | None, options.whole("Only the first so many mazes.", "--limit")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for report and episodes. The same command again goes on where it stopped."),
    ] = None,
    on_error: Annotated[
        str,
        options.one_of("What a failing answer ends, the evaluation or its episode", ON_ERROR, "--on-error"),
    ] = "raise",
    suites: Annotated[bool, typer.Option("--suites", help="Say what the suites are, and end.")] = False,
    as_json: options.Json = False,
    endpoint: Annotated[
        str | None, typer.Option(help="Base URL of an OpenAI-compatible server.", rich_help_panel=_ASKED)
    ] = None,
    model: Annotated[str | None, typer.Option(help="Model of the endpoint.", rich_help_panel=_ASKED)] = None,
    key_env: Annotated[
        str | None,
        typer.Option(help="Environment variable that holds the endpoint's key.", rich_help_panel=_ASKED),
    ] = None,
    adapter: Annotated[
        Path | None, typer.Option(help="LoRA adapter on the model folder.", rich_help_panel=_ASKED)
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="Of the model folder: cpu or cuda.", rich_help_panel=_ASKED)
    ] = None,
    temperature: Annotated[
        float | None, options.real("0 (the default) for greedy answers.", "--temperature", panel=_ASKED)
    ] = None,
    max_tokens: Annotated[int | None, options.whole("Of an answer.", "--max-tokens", panel=_ASKED)] = None,
    seed: Annotated[
        int | None, options.whole("Of random answers; 0 if not given.", "--seed", least=0, panel=_ASKED)
    ] = None,
    history: Annotated[
        int | None, options.whole("Turns that it may read back.", "--history", least=0, panel=_ASKED)
    ] = None,
    images: Annotated[int | None, options.whole("Newest pictures kept.", "--images", panel=_ASKED)] = None,
    concurrency: Annotated[
        int | None, options.whole("Episodes at a time.", "--concurrency", panel=_ASKED)
    ] = None,
    timeout: Annotated[
        float | None,
        options.real("Seconds that an answer may take; 120 if not given.", "--timeout", panel=_ASKED),
    ] = None,
    retries: Annotated[
        int | None, options.whole("Of a request; 5 if not given.", "--retries", least=0, panel=_ASKED)
    ] = None,
    request: Annotated[
        str | None,
        typer.Option(
            help="JSON object of more fields of a request; null removes one.", rich_help_panel=_ASKED
        ),
    ] = None,
    max_turns: options.MaxTurns = None,
    prompt: options.Prompt = None,
    style: options.Style = None,
    view: options.View = None,
    observe: options.Observe = None,
    dialect: options.Dialect = None,
    goal_rule: options.GoalRule = None,
    moves_per_turn: options.MovesPerTurn = None,
    feedback: options.Feedback = None,
) -> None:
    """Let a policy play held-out mazes and report how it does. Nothing leaves this machine but questions."""
    if suites:
        described = {name: describe(name) for name in SUITES}
        answer(described, as_json, *(f"{name}: {text}\n" for name, text in described.items()))
        return
    mazes, levels, play = mazes_of(suite, split, limit)
    asked = options.play_of(locals())
    if changed := [f"{name}={value}" for name, value in asked.items() if play.get(name, value) != value]:
        mazes += f", but {', '.join(changed)}"  # no longer what the suite is
    play |= asked
    MazeDialogue(levels[0], **play)  # refuses bad options before anything is loaded
    if on_error not in ON_ERROR:
        raise ValueError(f"unknown --on-error {on_error!r}; known: {', '.join(ON_ERROR)}")
    player = choose(
        policy,
        endpoint,
        model=model,
        key_env=key_env,
        adapter=adapter,
        device=device,
        temperature=temperature,
        max_tokens=max_tokens,
        seed=seed,
        history=history,
        images=images,
        concurrency=concurrency,
        timeout=timeout,
        retries=retries,
        request=request,
    )
    if endpoint is not None and out is None:
        raise ValueError(
            "--endpoint needs --out FOLDER, so that no answer is ever asked (and paid) for twice"
        )
    settings = {"policy": player.name, "mazes": mazes, "play": play, "sampling": player.sampling}
    if prompt is not None and Path(prompt).is_file():
        # A file may hold another text tomorrow; one report is of one prompt.
        settings["prompt_sha256"] = sha256(Path(prompt).read_bytes()).hexdigest()
    if policy is not None and (hint := unlike_training(Path(policy), levels, play)):
        note(hint)
    claim = nullcontext() if out is None else claimed(out, {**settings, "split_key": levels_key(levels)})
    with claim as record:
        report, trajectories = play_all(player, levels, settings, record, on_error)
        files = [] if out is None else write_report(out, report, trajectories)
    refuse_lost(report, trajectories)
    names = [str(file) for file in files]
    shown = Markdown(to_markdown(report).partition("## Settings")[0])
    answer({**report.to_dict(), "files": names}, as_json, shown, report.headline(), *names)
