"""How does TRL talk to the checkpoint that ships with the package?

The tiny model says ``<action>left</action>`` and reads what follows as a user's message. TRL plays with tool
calls: a template of answers tells it that this is a call of the tool ``act``, a chat template how the tool's
result is written. Models that know tool calls need none of this.
"""

from __future__ import annotations

from typing import Any

from visgym_maze.adapters.trl import MazeTools, Part
from visgym_maze_skyrl.assets import tiny_model_folder

RESPONSE_TEMPLATE: dict[str, Any] = {
    "defaults": {"role": "assistant"},
    "start_anchor": "<|im_start|>assistant\n",
    "fields": {
        "tool_calls": {
            "open": "<action>",
            "close": "</action>",
            "repeats": True,
            "content": "text",
            "transform": {
                "type": "function",
                "function": {"name": "act", "arguments": {"action": "{content}"}},
            },
        },
        "content": {"close": "<|im_end|>", "content": "text"},
    },
}
CHAT_TEMPLATE = """\
{%- for message in messages %}
{{- '<|im_start|>' + ('user' if message.role == 'tool' else message.role) + '\\n' }}
{%- for part in message.content if message.content is not string %}
{{- '<|vision_start|><|image_pad|><|vision_end|>' if part.type == 'image' else part.text }}
{%- endfor %}
{%- if message.content is string %}{{- message.content }}{% endif %}
{%- for call in message.tool_calls or [] %}{{- call.function | tojson }}{% endfor %}
{{- '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{% endif %}"""


class TinyModelTools(MazeTools):
    """One tool, ``act``, in place of two, and the prompt and pictures that the tiny model was made with.

    Args:
        levels: The mazes, of 7x7 cells; as for :class:`~visgym_maze.adapters.trl.MazeTools`.
        options: How to play; also as there.
    """

    def __init__(self, levels: Any, **options: Any) -> None:
        super().__init__(levels, **{"prompt": "brief", "style": "patch16", **options})

    def act(self, action: str) -> list[Part]:
        """Act.

        Args:
            action: One of "left", "right", "up", "down" and "stop".

        Returns:
            What happened, and the picture afterwards.
        """
        return self.stop() if action == "stop" else self.move(action)


def tiny_model_for_trl() -> tuple[Any, Any]:
    """The tiny Qwen3-VL in float32, and its processor with the two templates."""
    import torch
    from transformers import AutoModelForImageTextToText, AutoProcessor

    folder = tiny_model_folder()
    model = AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32)
    processor: Any = AutoProcessor.from_pretrained(folder, chat_template=CHAT_TEMPLATE, padding_side="left")
    processor.tokenizer.response_template = RESPONSE_TEMPLATE
    return model, processor
