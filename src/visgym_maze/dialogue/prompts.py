"""What is the policy told? Task texts and feedback, as templates that a user can replace."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from string import Template

from visgym_maze.view.top_down import TopDown

_ANSWER_HELP = {
    "tag": "End your answer with one of <action>left</action>, <action>right</action>, <action>up</action>, "
    "<action>down</action> or <action>stop</action>.",
    "tuple": "Answer with ('move', d) where d is 0 for right, 1 for up, 2 for left, 3 for down, "
    "or with ('stop', 'stop').",
    "json": 'Answer with {"name": "move", "arguments": {"direction": "left"}} (or "right", "up", "down"), '
    'or with {"name": "stop", "arguments": {}}.',
}

_SEVERAL_HELP = {
    "tag": "Up to $n actions fit into one answer: <action>left, up</action>.",
    "tuple": "Up to $n actions fit into one answer: [('move', 2), ('move', 1)].",
    "json": "Up to $n actions fit into one answer, as a JSON list of them.",
}

_GOAL_HELP = {
    "stop": "Once you stand on the goal, use stop; stopping anywhere else fails.",
    "reach": "The task is done as soon as you stand on the goal.",
}

_ALLOWED = {
    "first": {"legend", "max_turns", "answer_help", "goal_help"},
    "later": {"feedback", "turns_left", "turn", "max_turns"},
    "invalid": {"reason"},
    "moved_on": {"moves"},
    "blocked_later": {"moves"},
}


@dataclass(frozen=True)
class PromptTemplate:
    """The texts of a dialogue.

    Each is a ``string.Template``; ``first`` may use ``$legend`` (what the picture or text shows),
    ``$max_turns``, ``$answer_help`` and ``$goal_help``, and ``later`` may use ``$feedback``,
    ``$turns_left``, ``$turn`` and ``$max_turns``. An unknown placeholder is an error at once.

    Attributes:
        first: Text of the first user message, in front of the picture.
        later: Text of every later user message, in front of the picture.
        system: Text of a system message; empty for none.
        moved: Feedback after a move.
        blocked: Feedback after walking into a wall.
        invalid: Feedback after an answer without an action; may use ``$reason``.
        moved_on: Feedback after several moves in one turn; may use ``$moves``.
        blocked_later: Feedback after some moves and then a wall; may use ``$moves``.
        omitted: Stands for a picture that a shortened history leaves out.
    """

    first: str
    later: str
    system: str = ""
    moved: str = "You moved one cell."
    blocked: str = "A wall is in the way. You did not move."
    invalid: str = "No action was taken ($reason)."
    moved_on: str = "You moved $moves cells."
    blocked_later: str = "You moved $moves of the cells; then a wall was in the way."
    omitted: str = "(picture left out)"

    def __post_init__(self) -> None:
        for field in fields(self):
            template = Template(getattr(self, field.name))
            if not template.is_valid():
                raise ValueError(f"the prompt text {field.name!r} has a malformed $placeholder")
            unknown = set(template.get_identifiers()) - _ALLOWED.get(field.name, set())
            if unknown:
                known = ", ".join(sorted(_ALLOWED.get(field.name, set()))) or "none"
                raise ValueError(
                    f"the prompt text {field.name!r} uses unknown ${sorted(unknown)[0]}; known: {known}"
                )

    def first_text(
        self, *, max_turns: int, dialect: str, goal_rule: str, legend: str | None = None, max_actions: int = 1
    ) -> str:
        """The text of the first user message.

        Args:
            max_turns: Turn cap.
            dialect: How actions are spelled.
            goal_rule: ``"stop"`` or ``"reach"``.
            legend: What the picture shows; None for a plain maze from above.
            max_actions: How many actions an answer may name.
        """
        legend = TopDown().legend(picture=True) if legend is None else legend
        return _first_text(self.first, max_turns, dialect, goal_rule, legend, max_actions)

    def later_text(self, *, feedback: str, turn: int, max_turns: int) -> str:
        """The text of the user message after turn ``turn``."""
        return later_text(self.later, feedback, turn, max_turns)

    def feedback(self, reason: str | None, moves: int, bumped: bool) -> str:
        """What a turn did.

        Args:
            reason: Why the answer named no action, or None.
            moves: Cells walked.
            bumped: Whether the turn ended at a wall.

        Returns:
            The text; empty after a stop, which ends the episode and is not answered.
        """
        if reason is not None:
            return _fill(self.invalid, "reason", reason.replace("_", " "))
        if bumped:
            return _fill(self.blocked_later, "moves", str(moves)) if moves else self.blocked
        if moves > 1:
            return _fill(self.moved_on, "moves", str(moves))
        return self.moved if moves else ""

    @classmethod
    def load(cls, path: str | Path) -> PromptTemplate:
        """Read the texts from a JSON object with the attribute names as keys.

        Raises:
            ValueError: If the file holds anything else, or a key is unknown or missing.
        """
        data = json.loads(Path(path).read_text(encoding="utf-8"))
        if not isinstance(data, dict) or not all(isinstance(text, str) for text in data.values()):
            raise ValueError(f"{path}: a prompt is a JSON object whose values are all strings")
        names = {field.name for field in fields(cls)}
        unknown = sorted(set(data) - names)
        if unknown:
            raise ValueError(f"{path}: unknown prompt text {unknown[0]!r}; known: {sorted(names)}")
        if not {"first", "later"} <= set(data):
            raise ValueError(f"{path}: a prompt needs the texts 'first' and 'later'")
        return cls(**data)


# Filling a template in costs more than the rest of a turn; few different texts come out.


@lru_cache(maxsize=256)
def _first_text(
    first: str, max_turns: int, dialect: str, goal_rule: str, legend: str, max_actions: int
) -> str:
    answer_help = _ANSWER_HELP[dialect]
    if max_actions > 1:
        answer_help += " " + Template(_SEVERAL_HELP[dialect]).substitute(n=max_actions)
    return Template(first).substitute(
        legend=legend, max_turns=max_turns, answer_help=answer_help, goal_help=_GOAL_HELP[goal_rule]
    )


@lru_cache(maxsize=4096)
def later_text(later: str, feedback: str, turn: int, max_turns: int) -> str:
    """Fill in :attr:`PromptTemplate.later`."""
    text = Template(later).substitute(
        feedback=feedback, turn=turn, max_turns=max_turns, turns_left=max_turns - turn
    )
    return text.strip()


@lru_cache(maxsize=1024)
def _fill(template: str, name: str, value: str) -> str:
    return Template(template).substitute({name: value})


PROMPTS: dict[str, PromptTemplate] = {
    "standard": PromptTemplate(
        first="$legend Find the way to the goal, one cell per move, within $max_turns answers. $goal_help "
        "$answer_help",
        later="$feedback $turns_left answers left.",
    ),
    "brief": PromptTemplate(
        first="Go to red. $max_turns turns.",
        later="$feedback",
        moved="ok",
        blocked="wall",
        invalid="invalid",
        moved_on="ok",
        blocked_later="wall",
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
