"""Where does the gap between the engine's log-probabilities and the trainer's come from?

Rollouts are sampled on vLLM in one precision; then the same tokens are scored by the Hugging Face model in
bfloat16 and in float32, the way a trainer does. Both sides leave out the same tokens. If precision is all
there is, float32 against float32 leaves next to nothing.

    python benchmarks/logprob_gap.py --engine bfloat16 --out docs/results/logprob_gap-bfloat16.json
    python benchmarks/logprob_gap.py --engine float32 --out docs/results/logprob_gap-float32.json
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

import torch
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
from transformers import AutoModelForImageTextToText

from visgym_maze.files import write_text
from visgym_maze_skyrl.masking import forbid


def main() -> None:
    parser = arguments_of(__doc__, mazes=8)
    parser.add_argument("--engine", default="bfloat16", choices=["bfloat16", "float32"])
    arguments = parser.parse_args()
    model, engine = arguments.model, arguments.engine
    with vllm_server(model, arguments.log, f"--dtype {engine} {arguments.server}") as port:
        output = asyncio.run(_play(model, port, getattr(torch, engine), arguments.mazes))
    result = {
        **measured_with("logprob_gap.py"),
        "engine": engine,
        "tokens": sum(map(sum, output["loss_masks"])),
        "trainer": {str(d).removeprefix("torch."): _gap(model, output, d) for d in _DTYPES},
    }
    print(json.dumps(result, indent=1))
    if arguments.out:
        write_text(arguments.out, json.dumps(result, indent=1) + "\n")


_DTYPES = (torch.bfloat16, torch.float32)


async def _play(model: str, port: int, dtype: torch.dtype, mazes: int) -> dict[str, Any]:
    client, recipe = client_of(model, port), recipe_for(model, "patch16", mazes)
    with tempfile.TemporaryDirectory() as folder:
        cfg = skyrl_settings(recipe, Path(folder), 15)
    generator = our_generator(cfg, client, model, dtype)
    output: dict[str, Any] = dict(
        await generator.generate(groups(recipe, client.tokenizer, 15, first=0, mazes=mazes))
    )
    output["tokenizer"], output["image_id"] = client.tokenizer, generator.codec.image_id
    await client._get_generate_client().aclose()
    return output


@torch.no_grad()
def _gap(model_path: str, output: dict[str, Any], dtype: torch.dtype) -> dict[str, float]:
    """Differences over all sampled tokens: of log-probabilities, and of the ratios that enter the loss."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model: Any = AutoModelForImageTextToText.from_pretrained(model_path, dtype=dtype).to(device)
    forbid(model, output["tokenizer"])
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
