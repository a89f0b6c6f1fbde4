"""What is the policy told? Task texts and feedback, as templates that a user can replace."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path
from string import Template

_ANSWER_HELP = {
    "tag": "End your answer with one of <action>left</action>, <action>right</action>, <action>up</action>, "
    "<action>down</action> or <action>stop</action>.",
    "tuple": "Answer with ('move', d) where d is 0 for right, 1 for up, 2 for left, 3 for down, "
    "or with ('stop', 'stop').",
    "json": 'Answer with {"name": "move", "arguments": {"direction": "left"}} (or "right", "up", "down"), '
    'or with {"name": "stop", "arguments": {}}.',
}

_GOAL_HELP = {
    "stop": "Once you stand on the goal, use stop; stopping anywhere else fails.",
    "reach": "The task is done as soon as you stand on the goal.",
}


@dataclass(frozen=True)
class PromptTemplate:
    """The texts of a dialogue.

    Each is a ``string.Template``; ``first`` may use ``$max_turns``, ``$answer_help`` and
    ``$goal_help``, and ``later`` may use ``$feedback``, ``$turns_left``, ``$turn`` and
    ``$max_turns``. An unknown placeholder is an error at once.

    Attributes:
        first: Text of the first user message, in front of the picture.
        later: Text of every later user message, in front of the picture.
        system: Text of a system message; empty for none.
        moved: Feedback after a move.
        blocked: Feedback after walking into a wall.
        invalid: Feedback after an answer without an action; may use ``$reason``.
    """

    first: str
    later: str
    system: str = ""
    moved: str = "You moved one cell."
    blocked: str = "A wall is in the way. You did not move."
    invalid: str = "No action was taken ($reason)."

    def __post_init__(self) -> None:
        allowed = {
            "first": {"max_turns", "answer_help", "goal_help"},
            "later": {"feedback", "turns_left", "turn", "max_turns"},
            "invalid": {"reason"},
        }
        for field in fields(self):
            template = Template(getattr(self, field.name))
            if not template.is_valid():
                raise ValueError(f"the prompt text {field.name!r} has a malformed $placeholder")
            unknown = set(template.get_identifiers()) - allowed.get(field.name, set())
            if unknown:
                known = ", ".join(sorted(allowed.get(field.name, set()))) or "none"
                raise ValueError(
                    f"the prompt text {field.name!r} uses unknown ${sorted(unknown)[0]}; known: {known}"
                )

    def first_text(self, *, max_turns: int, dialect: str, goal_rule: str) -> str:
        """The text of the first user message."""
        return Template(self.first).substitute(
            max_turns=max_turns, answer_help=_ANSWER_HELP[dialect], goal_help=_GOAL_HELP[goal_rule]
        )

    def later_text(self, *, feedback: str, turn: int, max_turns: int) -> str:
        """The text of the user message after turn ``turn``."""
        return (
            Template(self.later)
            .substitute(feedback=feedback, turn=turn, max_turns=max_turns, turns_left=max_turns - turn)
            .strip()
        )

    @classmethod
    def load(cls, path: str | Path) -> PromptTemplate:
        """Read the texts from a JSON object with the attribute names as keys.

        Raises:
            ValueError: If a key is unknown or missing.
        """
        data = json.loads(Path(path).read_text(encoding="utf-8"))
        names = {field.name for field in fields(cls)}
        unknown = sorted(set(data) - names)
        if unknown:
            raise ValueError(f"{path}: unknown prompt text {unknown[0]!r}; known: {sorted(names)}")
        if not {"first", "later"} <= set(data):
            raise ValueError(f"{path}: a prompt needs the texts 'first' and 'later'")
        return cls(**data)


PROMPTS: dict[str, PromptTemplate] = {
    "standard": PromptTemplate(
        first="The picture shows a maze from above. Grey cells are walls, white cells are free, the blue "
        "disc is you and the red cell is the goal. Find the way to the goal, one cell per answer, within "
        "$max_turns answers. $goal_help $answer_help",
        later="$feedback $turns_left answers left.",
    ),
    "brief": PromptTemplate(
        first="Go to red. $max_turns turns.",
        later="$feedback",
        moved="ok",
        blocked="wall",
        invalid="invalid",
    ),
}
"""Named prompts: ``standard`` explains the task, ``brief`` suits a tiny model trained on it."""


def prompt_named(prompt: str | PromptTemplate) -> PromptTemplate:
    """Look a prompt up by name, or read it if it is the path of a ``.json`` file.

    Raises:
        ValueError: If it is neither.
    """
    if isinstance(prompt, PromptTemplate):
        return prompt
    if prompt in PROMPTS:
        return PROMPTS[prompt]
    if prompt.endswith(".json"):
        return PromptTemplate.load(prompt)
    raise ValueError(f"unknown prompt {prompt!r}; known: {', '.join(PROMPTS)}, or the path of a .json file")
