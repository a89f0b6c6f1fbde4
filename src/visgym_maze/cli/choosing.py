"""Who plays? From ``--policy`` or ``--endpoint`` to a policy. The one place that knows all kinds."""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from visgym_maze.cli.console import CommandError, note
from visgym_maze.dialogue.content import Message
from visgym_maze.policies import ChatPolicy, OraclePolicy, Policy, RandomPolicy

MAX_TOKENS = 512

_TAKES: dict[str, tuple[str, ...]] = {
    "the oracle": (),
    "the random policy": ("seed",),
    "a model folder": ("adapter", "device", "temperature", "max_tokens", "seed"),
    "a Python callable": ("history", "images", "concurrency"),
    "an endpoint": (
        "model", "key_env", "temperature", "max_tokens", "seed", "request", "history", "images",
        "concurrency", "timeout", "retries",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Player:
    """Who plays an evaluation.

    Attributes:
        policy: The policy.
        name: What it was asked for as.
        sampling: How answers are drawn, for the report; JSON-ready.
        workers: Episodes that it plays at a time in threads, or None for all side by side.
    """

    policy: Policy
    name: str
    sampling: dict[str, Any] = field(default_factory=dict[str, Any])
    workers: int | None = None


def choose(policy: str | None, endpoint: str | None, **options: Any) -> Player:
    """Make the policy.

    Args:
        policy: ``oracle``, ``random``, a model folder, or ``module:callable``.
        endpoint: Base URL of an OpenAI-compatible server, in place of ``policy``.
        options: What the policy takes; None where it wasn't given.

    Raises:
        ValueError: If there is no such policy, or it does not take one of the options.
    """
    if (policy is None) == (endpoint is None):
        raise ValueError(
            "say who plays: --policy oracle, random, FOLDER or module:callable, or else --endpoint URL"
        )
    kind = "an endpoint" if policy is None else _kind(policy)
    settings = {name: value for name, value in options.items() if value is not None}
    for name in settings:
        if name not in _TAKES[kind]:
            takers = " or ".join(other for other in _TAKES if name in _TAKES[other])
            raise ValueError(f"--{name.replace('_', '-')} is for {takers}, not for {kind}")
    return _MAKERS[kind](endpoint or policy or "", settings)


def _kind(policy: str) -> str:
    if policy in ("oracle", "random"):
        return f"the {policy}{' policy' if policy == 'random' else ''}"
    if Path(policy).is_dir():
        return "a model folder"
    module, colon, name = policy.partition(":")
    if colon and all(part.isidentifier() for part in [*module.split("."), name]):
        return "a Python callable"
    raise ValueError(
        f"unknown policy {policy!r}: it is none of oracle and random, no folder that exists, and not "
        "written module:callable"
    )


def _oracle(name: str, settings: dict[str, Any]) -> Player:
    return Player(OraclePolicy(), name, {"mode": "deterministic"})


def _random(name: str, settings: dict[str, Any]) -> Player:
    seed = settings.get("seed", 0)
    return Player(RandomPolicy(seed), name, {"mode": "sampled", "seed": seed})


def _sampling(settings: dict[str, Any]) -> dict[str, Any]:
    temperature = settings.get("temperature", 0.0)
    return {
        "mode": "sampled" if temperature else "greedy",
        "temperature": temperature,
        "max_tokens": settings.get("max_tokens", MAX_TOKENS),
        "seed": settings.get("seed", 0),
    }


def _model_folder(name: str, settings: dict[str, Any]) -> Player:
    # Loading notices and bars of the library would stand between our own lines.
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    try:
        from visgym_maze_skyrl.local.policy import ModelPolicy
    except ModuleNotFoundError as error:
        raise CommandError(
            f"playing a model folder needs the package {error.name}; pip install 'visgym-maze[train]', or "
            "serve the model and use --endpoint"
        ) from error
    sampling = _sampling(settings)
    drawn = {key: sampling[key] for key in ("temperature", "max_tokens", "seed")}
    adapter: Path | None = settings.get("adapter")
    note(f"loading {name}")
    device = settings.get("device", "cpu")
    policy = ModelPolicy.load(name, adapter, device=device, **drawn)
    return Player(policy, name, sampling | {"device": device, "adapter": adapter and str(adapter)})


def _callable(name: str, settings: dict[str, Any]) -> Player:
    module, _, attribute = name.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        answer: Any = getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as error:
        raise ValueError(
            f"there is no module {error.name!r} for {name!r}; run the command in its folder, or install it"
        ) from error
    except AttributeError as error:
        raise ValueError(f"{name!r} can't be loaded: {error}") from error
    if not callable(answer):
        raise ValueError(f"{name!r} is {type(answer).__name__}, not a function from messages to an answer")
    kept: dict[str, Any] = {key: settings.get(key) for key in ("history", "images")}
    policy = ChatPolicy(cast("Callable[[list[Message]], str]", answer), **kept)
    return Player(policy, name, {"mode": "up to the callable", **kept}, settings.get("concurrency", 1))


def _endpoint(url: str, settings: dict[str, Any]) -> Player:
    try:
        from visgym_maze.endpoint import EndpointPolicy, Sampling
    except ModuleNotFoundError as error:
        raise CommandError(
            f"asking an endpoint needs the package {error.name}; pip install 'visgym-maze[cli]'"
        ) from error
    if "model" not in settings:
        raise ValueError("--endpoint needs --model NAME, the name that the server knows the model by")
    extra = _request_fields(settings.get("request", "{}"))
    sampling = _sampling(settings)
    drawn = {key: sampling[key] for key in ("temperature", "max_tokens", "seed")}
    reads: dict[str, Any] = {key: settings.get(key) for key in ("history", "images")}
    patience = {key: settings[key] for key in ("timeout", "retries") if key in settings}
    policy = EndpointPolicy(
        url,
        settings["model"],
        sampling=Sampling(**drawn, extra=extra),
        key_variable=settings.get("key_env"),
        on_retry=note,
        **patience,
        **reads,
    )
    shown = {"endpoint": policy.url, **sampling, "request": extra, **reads}
    return Player(policy, settings["model"], shown, settings.get("concurrency", 8))


def _request_fields(text: str) -> dict[str, Any]:
    try:
        fields = json.loads(text)
    except ValueError:
        fields = None
    if not isinstance(fields, dict):
        raise ValueError(f'--request is a JSON object such as {{"top_p": 0.9}}, got {text!r}')
    return fields


_MAKERS: dict[str, Callable[[str, dict[str, Any]], Player]] = {
    "the oracle": _oracle,
    "the random policy": _random,
    "a model folder": _model_folder,
    "a Python callable": _callable,
    "an endpoint": _endpoint,
}
