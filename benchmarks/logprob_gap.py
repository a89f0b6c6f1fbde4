"""Where does the gap between the engine's log-probabilities and the trainer's come from?

Rollouts are sampled on vLLM in one precision; then the same tokens are scored by the Hugging Face model in
bfloat16 and in float32, the way a trainer does, and by the local backend. All leave out the same tokens. If
precision is all there is, float32 against float32 leaves next to nothing. With an adapter, vLLM serves it,
PEFT puts it on Hugging Face's model, and the local backend merges it.

    python benchmarks/logprob_gap.py --engine bfloat16 --out docs/results/logprob_gap-bfloat16.json
    python benchmarks/logprob_gap.py --engine float32 --out docs/results/logprob_gap-float32.json
    python benchmarks/logprob_gap.py --engine float32 --adapter runs/tiny/exports/global_step_40/policy
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

import torch
from peft import PeftModel
from serving import (
    arguments_of,
    client_of,
    groups,
    measured_with,
    our_generator,
    recipe_for,
    skyrl_settings,
    vllm_server,
)
from transformers import AutoModelForImageTextToText, AutoTokenizer

from visgym_maze.files import write_text
from visgym_maze_skyrl.local.policy import ModelPolicy
from visgym_maze_skyrl.masking import forbid

_ADAPTER = "exported"
_TRAINERS = {"bfloat16": torch.bfloat16, "float32": torch.float32}


def main() -> None:
    parser = arguments_of(__doc__, mazes=8)
    parser.add_argument("--engine", default="bfloat16", choices=list(_TRAINERS))
    parser.add_argument("--adapter", type=Path, help="PEFT folder to put on the model everywhere")
    arguments = parser.parse_args()
    options = f"--dtype {arguments.engine} {arguments.server}"
    if arguments.adapter:
        options += f" --enable-lora --max-lora-rank 64 --lora-modules {_ADAPTER}={arguments.adapter}"
    with vllm_server(arguments.model, arguments.log, options) as port:
        output = asyncio.run(_play(arguments, port))
    result = {
        **measured_with("logprob_gap.py"),
        "engine": arguments.engine,
        "tokens": sum(map(sum, output["loss_masks"])),
        "trainer": {n: _gap(_trainer(arguments, d), output, d) for n, d in _TRAINERS.items()},
        "local": _gap(_local(arguments), output, torch.float32),
    }
    print(json.dumps(result, indent=1))
    if arguments.out:
        write_text(arguments.out, json.dumps(result, indent=1) + "\n")


async def _play(arguments: argparse.Namespace, port: int) -> dict[str, Any]:
    client = client_of(arguments.model, port)
    recipe = recipe_for(arguments.model, "patch16", arguments.mazes)
    with tempfile.TemporaryDirectory() as folder:
        cfg = skyrl_settings(recipe, Path(folder), 15)
    generator = our_generator(cfg, client, arguments.model, _TRAINERS[arguments.engine])
    if arguments.adapter:
        generator.policy_model_name = _ADAPTER
    batch = groups(recipe, client.tokenizer, 15, first=0, mazes=arguments.mazes)
    output: dict[str, Any] = dict(await generator.generate(batch))
    output["image_id"] = generator.codec.image_id
    await client._get_generate_client().aclose()
    return output


def _trainer(arguments: argparse.Namespace, dtype: torch.dtype) -> Any:
    """Hugging Face's model, with PEFT's adapter if there is one."""
    model: Any = AutoModelForImageTextToText.from_pretrained(arguments.model, dtype=dtype)
    forbid(model, AutoTokenizer.from_pretrained(arguments.model))
    return PeftModel.from_pretrained(model, arguments.adapter) if arguments.adapter else model


def _local(arguments: argparse.Namespace) -> Any:
    """The model that the local backend plays with; its sampler is what leaves the tokens out there."""
    model = ModelPolicy.load(arguments.model, arguments.adapter).engine.model
    forbid(model, AutoTokenizer.from_pretrained(arguments.model))
    return model


@torch.no_grad()
def _gap(model: Any, output: dict[str, Any], dtype: torch.dtype) -> dict[str, float]:
    """Differences over all sampled tokens: of log-probabilities, and of the ratios that enter the loss."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model.to(device)
    gaps: list[torch.Tensor] = []
    for i, response in enumerate(output["response_ids"]):
        ids = torch.tensor([output["prompt_token_ids"][i] + response], device=device)
        logits = model(
            input_ids=ids,
            pixel_values=output["pixel_values"][i].to(device, dtype),
            image_grid_thw=output["image_grid_thw"][i].to(device),
            mm_token_type_ids=(ids == output["image_id"]).long(),
        ).logits
        scored = logits[0, :-1].float().log_softmax(-1).gather(-1, ids[0, 1:, None])[-len(response) :, 0]
        mask = torch.tensor(output["loss_masks"][i], device=device).bool()
        gaps.append((scored - torch.tensor(output["rollout_logprobs"][i], device=device))[mask].cpu())
    gap = torch.cat(gaps).double()
    size, ratio = gap.abs(), gap.exp()
    return {
        "mean": float(size.mean()),
        "p99": float(size.quantile(0.99)),
        "max": float(size.max()),
        "share_above_0.1": float((size > 0.1).double().mean()),
        "ratio_mean": float(ratio.mean()),
        "share_of_ratios_outside_clip_0.2": float(((ratio - 1).abs() > 0.2).double().mean()),
    }


if __name__ == "__main__":
    main()
