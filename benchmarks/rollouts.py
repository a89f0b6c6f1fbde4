"""How much faster are rollouts than with SkyRL's stock generator? Both in one run, on one vLLM server.

The server is SkyRL's own (``vllm_server_actor``); generators, mazes, seeds and sampling are the same, and so
is the client, SkyRL's ``RemoteInferenceClient``. Each row plays every maze with every rollout of its group:

* ``stock``: ``SkyRLVLMGymGenerator``;
* ``ours``: ``MazeGenerator``;
* ``engine``: the requests that ours made, recorded and sent again without environment or encoding, which is
  what the engine and its HTTP server alone can do.

    python benchmarks/rollouts.py --out docs/results/rollouts.json
    python benchmarks/rollouts.py --mazes 4 --turns 1 4 --styles patch16 --server "--enforce-eager"
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Awaitable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
from serving import (
    GROUP,
    arguments_of,
    client_of,
    groups,
    measured_with,
    our_generator,
    recipe_for,
    skyrl_settings,
    vllm_server,
)
from skyrl.train.generators.skyrl_vlm_generator import SkyRLVLMGymGenerator

from visgym_maze.files import write_text


def main() -> None:
    parser = arguments_of(__doc__, mazes=16)
    parser.add_argument("--turns", type=int, nargs="+", default=[1, 4, 15], help="turn caps")
    parser.add_argument("--styles", nargs="+", default=["patch16", "patch32"], help="128 and 224 px at 7x7")
    parser.add_argument("--limit", type=float, default=1e9, help="seconds after which no row is begun")
    arguments = parser.parse_args()
    started = time.monotonic()
    with vllm_server(arguments.model, arguments.log, arguments.server) as port:
        result = measured_with("rollouts.py")
        result |= {"server_started_in_seconds": time.monotonic() - started, "rows": []}
        for style in arguments.styles:
            for turns in arguments.turns:
                if time.monotonic() - started > arguments.limit:
                    return
                row = asyncio.run(_row(arguments.model, port, style, turns, arguments.mazes))
                result["rows"].append(row)
                print(json.dumps(row), flush=True)
                if arguments.out:
                    write_text(arguments.out, json.dumps(result, indent=1) + "\n")


async def _row(model: str, port: int, style: str, turns: int, mazes: int) -> dict[str, Any]:
    """One picture size and turn cap: a small round to warm up, then each generator in turn."""
    row: dict[str, Any] = {"style": style, "turn_cap": turns, "rollouts": GROUP * mazes}
    sent: dict[str, list[Any]] = defaultdict(list)
    client, recipe = client_of(model, port), recipe_for(model, style, mazes)
    traffic = await _count_bytes(client)
    with tempfile.TemporaryDirectory() as folder:
        cfg = skyrl_settings(recipe, Path(folder), turns)
    for name, make in (("stock", _stock), ("ours", our_generator)):
        generator = make(cfg, client, model)
        await generator.generate(groups(recipe, client.tokenizer, turns, first=mazes, mazes=2))
        await client.reset_prefix_cache()
        if name == "ours":
            _record(client, sent)
        batch = groups(recipe, client.tokenizer, turns, first=0, mazes=mazes)
        row[name] = await _measure(generator.generate(batch), traffic)
    client.generate = type(client).generate.__get__(client)
    await client.reset_prefix_cache()
    row["engine"] = await _measure(_again(client, sent), traffic)
    for other in ("stock", "engine"):
        row[f"ours_over_{other}"] = row["ours"]["turns_per_second"] / row[other]["turns_per_second"]
    await client._get_generate_client().aclose()
    return row


def _stock(cfg: Any, client: Any, model: str) -> Any:
    return SkyRLVLMGymGenerator(cfg.generator, cfg.environment.skyrl_gym, client, client.tokenizer)


async def _measure(work: Awaitable[Any], traffic: dict[str, int]) -> dict[str, float]:
    """Rates, bytes and how idle the GPU was while the work ran."""
    traffic.update(sent=0, received=0)
    with _gpu_use() as use:
        started = time.perf_counter()
        output = await work
        seconds = time.perf_counter() - started
    turns = sum(_answers(mask) for mask in output["loss_masks"])
    tokens = sum(map(sum, output["loss_masks"]))
    return {
        "seconds": seconds,
        "turns": turns,
        "turns_per_second": turns / seconds,
        "tokens_per_second": tokens / seconds,
        "bytes_sent_per_turn": traffic["sent"] / turns,
        "bytes_received_per_turn": traffic["received"] / turns,
        "gpu_idle_share": 1 - sum(use) / len(use) / 100 if use else float("nan"),
    }


def _answers(mask: list[int]) -> int:
    """Turns of a conversation: runs of sampled tokens."""
    return sum(now > before for before, now in zip([0, *mask], mask, strict=False))


def _record(client: Any, sent: dict[str, list[Any]]) -> None:
    """Keep every request by its conversation."""
    original = client.generate

    async def generate(request: Any, model: str | None = None) -> Any:
        # The generator grows its lists of tokens and places while the conversation goes on.
        kept = {**request, "prompt_token_ids": [list(request["prompt_token_ids"][0])]}
        sent[request["session_ids"][0]].append(kept)
        return await original(request, model)

    client.generate = generate


async def _again(client: Any, sent: dict[str, list[Any]]) -> dict[str, Any]:
    """All conversations at once, each one's requests in order."""

    async def play(requests: list[Any]) -> list[int]:
        mask: list[int] = []
        for request in requests:
            output = await client.generate(request)
            mask += [0, *[1] * len(output["response_ids"][0])]
        return mask

    return {"loss_masks": await asyncio.gather(*map(play, sent.values()))}


async def _count_bytes(client: Any) -> dict[str, int]:
    """Count what the client's HTTP session sends and receives, bodies only."""
    traffic = {"sent": 0, "received": 0}

    async def sent(session: Any, context: Any, params: Any) -> None:
        traffic["sent"] += len(params.chunk)

    async def received(session: Any, context: Any, params: Any) -> None:
        traffic["received"] += len(params.chunk)

    trace = aiohttp.TraceConfig()
    trace.on_request_chunk_sent.append(sent)
    trace.on_response_chunk_received.append(received)
    trace.freeze()
    session = await client._get_session()
    session._trace_configs.append(trace)
    return traffic


@contextlib.contextmanager
def _gpu_use() -> Iterator[list[float]]:
    """Percent of the time in which a kernel ran, sampled ten times a second; empty without a GPU."""
    samples: list[float] = []
    try:
        import pynvml

        pynvml.nvmlInit()
        device = pynvml.nvmlDeviceGetHandleByIndex(0)
    except Exception:
        yield samples
        return
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.1):
            samples.append(pynvml.nvmlDeviceGetUtilizationRates(device).gpu)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        done.set()
        thread.join()


if __name__ == "__main__":
    main()
