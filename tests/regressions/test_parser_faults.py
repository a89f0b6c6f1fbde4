"""Faults that parsers of such environments have had in public; each test is named by what it guards."""

import pytest

from visgym_maze import Action, ParsedAction, ParseFailure, parse
from visgym_maze.dialogue.dialects import DIALECTS
from visgym_maze.dialogue.parsing import MAX_LENGTH

LONG = 200_000
LEFT = ParsedAction((Action.LEFT,))


@pytest.mark.parametrize(
    "unit",
    [
        *("<action>", "</action>", "<action", "<action>left</action>", "<think>", "</think>"),
        *("('a',", "('move', 0),", "(", "'", " ", "\n", " ,", "\\", "\u00e9", "\x00"),
        *("[", "{", '{"a":', "<tool_call>", "</tool_call>", "<observation>", "<observation>a</observation>"),
    ],
)
@pytest.mark.parametrize("frame", ["{}", "<action>{}</action>", "<tool_call>{}</tool_call>", "[{}]", "({})"])
@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_work_is_linear_in_the_length_of_hostile_text(unit: str, frame: str, dialect: str) -> None:
    """A pattern that backtracks, or a search repeated for every tag, would take minutes here."""
    text = frame.replace("{}", unit * (LONG // len(unit)))
    assert len(text) < MAX_LENGTH
    assert isinstance(parse(text, dialect, max_actions=5), ParseFailure)


def test_long_thoughts_are_read_to_their_end() -> None:
    thought = "('move', 1) <action>up</action> " * (LONG // 32)
    assert parse(f"<think>{thought}</think><action>left</action>") == LEFT


def test_a_pair_of_numbers_in_prose_is_no_action() -> None:
    for text in ("I am at (1, 1)", "From (1, 1) to (3, 1): ('move', 2)", "('move', 2) it is"):
        assert isinstance(parse(text, "tuple"), ParseFailure)


def test_an_action_in_a_thought_is_not_played() -> None:
    assert isinstance(parse("<think><action>left</action></think>"), ParseFailure)
    assert parse("<think><action>up</action></think><action>left</action>") == LEFT
    assert isinstance(parse("<think>I should <action>left</action>"), ParseFailure)


def test_an_action_that_is_only_talked_about_is_not_played() -> None:
    for tag in ("observation", "justification", "reasoning"):
        assert isinstance(parse(f"<{tag}>maybe <action>left</action></{tag}>"), ParseFailure)


@pytest.mark.parametrize("second", ["left", "up", "stop", "nonsense", ""])
def test_of_several_tags_none_is_chosen(second: str) -> None:
    text = f"<action>left</action> or <action>{second}</action>"
    assert parse(text) == parse(text, max_actions=9)
    assert isinstance(parse(text), ParseFailure)


def test_line_breaks_inside_a_tag_are_harmless() -> None:
    assert parse("<action>\nleft\n</action>") == LEFT
    assert parse("<think>a\nb</think>\n\n<action>\r\nleft</action>\n") == LEFT
    assert parse("<action>\n('move',\n 2)\n</action>", "tuple") == LEFT


@pytest.mark.parametrize(
    "text",
    [
        "<action>left</action> because it is free",
        "<justification>j</justification><observation>o</observation><action>left</action>",
        "<observation><observation>o</observation></observation><action>left</action>",
        "<observation>o<action>left</action>",
        "o</observation><action>left</action>",
        "<action>left</action><observation>o</observation>",
    ],
)
def test_prose_nested_and_reordered_tags_are_not_well_formed(text: str) -> None:
    parsed = parse(text)
    assert isinstance(parsed, ParseFailure) or not parsed.well_formed


def test_look_alikes_of_letters_and_digits_are_refused() -> None:
    for text, dialect in (
        ("<action>le\u017ft</action>", "tag"),
        ("<action>\uff4c\uff45\uff46\uff54</action>", "tag"),
        ("('move', \u0661)", "tuple"),
        ("('move', \uff11)", "tuple"),
        ("('move',\u00a02)", "tuple"),
    ):
        assert isinstance(parse(text, dialect), ParseFailure)


def test_no_text_is_evaluated() -> None:
    for text in ("(print('x'), 1)", "('move', 1+1)", "('move', True)", "('move', 1e0)", "('mo' 've', 2)"):
        assert isinstance(parse(text, "tuple"), ParseFailure)
