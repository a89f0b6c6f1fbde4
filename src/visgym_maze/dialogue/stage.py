"""What is the same in all episodes of one maze under the same rules? Worked out once for all who play it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

from visgym_maze.dialogue.content import Shown, new_record
from visgym_maze.dialogue.parsing import ParseFailure, parse
from visgym_maze.dialogue.prompts import PromptTemplate
from visgym_maze.dialogue.trajectory import Turn
from visgym_maze.dialogue.walking import walk
from visgym_maze.view.view import Blank, View, first_heading
from visgym_maze.world.dynamics import Action
from visgym_maze.world.layout import Cell, Layout
from visgym_maze.world.solver import solve

_SHORT = 256  # characters; what longer answers do is worked out each time
_MOST_EFFECTS = 1024  # that one stage keeps


class Rules(NamedTuple):
    """What decides how an episode goes, the answers and the reward apart; as for ``MazeDialogue``."""

    layout: Layout
    view: View
    observe: str
    dialect: str
    prompt: PromptTemplate
    goal_rule: str
    max_turns: int
    max_moves_per_turn: int


class Effect(NamedTuple):
    """What an answer does.

    Attributes:
        turn: Its record, with a reward of 0.
        heading: Where the agent looks afterwards.
        stopped: Whether it stopped.
        distance: Moves from where it then stands to the goal.
    """

    turn: Turn
    heading: Action
    stopped: bool
    distance: int


class Stage:
    """One maze under one set of rules. It holds no episode, so threads and members of a group share it.

    Attributes:
        start_distance: Moves from the start to the goal.
        first_heading: Where the agent looks to begin with.

    Raises:
        ValueError: If the goal can't be reached.
    """

    def __init__(self, rules: Rules) -> None:
        layout, view, observe = rules.layout, rules.view, rules.observe
        self._rules = rules
        self._distances = solve(layout).table
        self.start_distance = self._distances[layout.start[0] * layout.width + layout.start[1]]
        if self.start_distance < 0:
            raise ValueError(f"the goal of {layout!r} cannot be reached from its start")
        self.first_heading = first_heading(layout)
        camera = (Blank(view) if observe == "blank" else view).camera(layout)
        self._describe = camera.text if observe in ("text", "both") else camera.caption
        self._picture = None if observe == "text" else camera.data_uri
        self._effects: dict[tuple[Cell, Action, str], Effect] = {}

    def __reduce__(self) -> tuple[object, ...]:
        return stage_of, (self._rules,)

    @cached_property
    def opening(self) -> Shown:
        """What the first user message shows."""
        rules = self._rules
        task = rules.prompt.first_text(
            max_turns=rules.max_turns,
            dialect=rules.dialect,
            goal_rule=rules.goal_rule,
            legend=rules.view.legend(picture=rules.observe != "text"),
            max_actions=rules.max_moves_per_turn,
        )
        start = rules.layout.start
        return self.look(task, start, [start], self.first_heading)

    def look(self, text: str, cell: Cell, visited: Sequence[Cell], heading: Action) -> Shown:
        """A text, and what is seen beside it; arguments as for :class:`~visgym_maze.view.view.Camera`."""
        picture = self._picture
        url = None if picture is None else picture(cell, visited, heading)
        return new_record(Shown, (text, self._describe(cell, visited, heading), url))

    def effect(self, cell: Cell, heading: Action, text: str) -> Effect:
        """What an answer does to an agent that stands and looks there.

        Raises:
            TypeError: If the answer is no string.
        """
        if not isinstance(text, str) or len(text) > _SHORT:  # pyright: ignore[reportUnnecessaryIsInstance]
            return self._work_out(cell, heading, text)
        place = cell, heading, text
        effect = self._effects.get(place)
        if effect is None:
            effect = self._work_out(cell, heading, text)
            if len(self._effects) >= _MOST_EFFECTS:
                self._effects.clear()
            self._effects[place] = effect
        return effect

    def _work_out(self, cell: Cell, heading: Action, text: str) -> Effect:
        layout, _, _, dialect, prompt, goal_rule, _, max_actions = self._rules
        parsed = parse(text, dialect, max_actions)
        if isinstance(parsed, ParseFailure):
            word, failure, well_formed = None, parsed.reason.value, False
            path, bumped, stopped = (), False, False
        else:
            word, failure, well_formed = parsed.word, None, parsed.well_formed
            path, heading, bumped, stopped = walk(layout, cell, heading, parsed.actions, goal_rule == "reach")
        cell = path[-1] if path else cell
        feedback = prompt.feedback(failure, len(path), bumped)
        turn = Turn(text, word, failure, well_formed, cell, bumped, 0.0, feedback, path)
        return Effect(turn, heading, stopped, self._distances[cell[0] * layout.width + cell[1]])


@lru_cache(maxsize=256)
def stage_of(rules: Rules) -> Stage:
    """The one stage of some rules; the last 256 are kept."""
    return Stage(rules)
