import pytest
from hypothesis import given
from hypothesis import strategies as st

from visgym_maze import Action, FailureReason, ParsedAction, ParseFailure, parse, spell
from visgym_maze.dialogue.dialects import DIALECTS
from visgym_maze.dialogue.parsing import MAX_LENGTH

DIALECT = st.sampled_from(sorted(DIALECTS))
MOVE = st.sampled_from([action for action in Action if action is not Action.STOP])
PLAIN = st.text(st.characters(exclude_characters="<>{}[]()", exclude_categories=["Cs"]), max_size=80)


def reason(text: str, dialect: str = "tag", max_actions: int = 1) -> FailureReason:
    parsed = parse(text, dialect, max_actions)
    assert isinstance(parsed, ParseFailure), f"{text!r} was read as {parsed}"
    return parsed.reason


@given(st.sampled_from(list(Action)), DIALECT, st.sampled_from(["", " ", "\n", " \n\t"]))
def test_what_is_spelled_is_read_back(action: Action, dialect: str, space: str) -> None:
    parsed = parse(space + spell(action, dialect) + space, dialect)
    assert parsed == ParsedAction((action,), well_formed=True)


@given(st.lists(MOVE, min_size=1, max_size=6), st.booleans(), DIALECT)
def test_several_actions_are_read_back_in_order(moves: list[Action], stops: bool, dialect: str) -> None:
    actions = (*moves, Action.STOP) if stops else tuple(moves)
    text = spell(actions, dialect)
    assert parse(text, dialect, len(actions)) == ParsedAction(actions)
    if len(actions) > 1:
        assert reason(text, dialect, len(actions) - 1) is FailureReason.SEVERAL_ACTIONS


@given(MOVE, MOVE, DIALECT, PLAIN)
def test_two_actions_in_two_places_are_refused(a: Action, b: Action, dialect: str, between: str) -> None:
    open_tag, close_tag = DIALECTS[dialect].open_tag, DIALECTS[dialect].close_tag
    one, two = (spell(x, dialect).removeprefix(open_tag).removesuffix(close_tag) for x in (a, b))
    text = f"{open_tag}{one}{close_tag}{between}{open_tag}{two}{close_tag}"
    assert reason(text, dialect, 5) is FailureReason.SEVERAL_ACTIONS


@given(st.text(max_size=400), DIALECT, st.integers(1, 5))
def test_any_text_gets_an_action_or_a_reason(text: str, dialect: str, limit: int) -> None:
    parsed = parse(text, dialect, limit)
    if isinstance(parsed, ParsedAction):
        assert 1 <= len(parsed.actions) <= limit
    else:
        assert isinstance(parsed.reason, FailureReason)


@given(PLAIN, MOVE)
def test_prose_around_the_action_is_read_but_not_well_formed(prose: str, action: Action) -> None:
    text = spell(action)
    assert parse(prose + text) == ParsedAction((action,), well_formed=not prose.strip())
    assert parse(text + prose) == ParsedAction((action,), well_formed=not prose.strip())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("<think>left</think>", "empty"),
        ("left", "no_action"),
        ("<action></action>", "no_action"),
        ("<action>left", "unclosed_tag"),
        ("left</action>", "unclosed_tag"),
        ("</action>left<action>", "unclosed_tag"),
        ("<think><action>left</action>", "unclosed_tag"),
        ("<think>a</think>b<think>c</think><action>left</action>", "unclosed_tag"),
        ("I <think>hm</think><action>left</action>", "unclosed_tag"),
        ("<action>north</action>", "unknown_action"),
        ("<action>left,</action>", "unknown_action"),
        ("<action>\u212a</action>", "unknown_action"),
        ("<action>left, up</action>", "several_actions"),
        ("<action>left</action><action>left</action>", "several_actions"),
        ("<action><action>left</action></action>", "several_actions"),
        ("<justification>I could <action>left</action></justification>", "unclosed_tag"),
        (f"<action>{'left,' * 900}left</action>", "too_long"),
        ("x" * (MAX_LENGTH + 1), "too_long"),
    ],
)
def test_tag_dialect_says_why_not(text: str, expected: str) -> None:
    assert reason(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I am at (1, 1)", "no_action"),
        ("(1, 1)", "not_a_pair"),
        ("('move', 0) and ('move', 1)", "not_a_pair"),
        ("('move', 0), ('move', 1)", "not_a_pair"),
        ("('move', 4)", "out_of_range"),
        ("('move', -1)", "out_of_range"),
        ("('move', 01)", "not_a_pair"),
        ("('move', -0)", "not_a_pair"),
        ("('move', \u0662)", "not_a_pair"),
        ("('move', 1.0)", "not_a_pair"),
        ("('move', 'left')", "out_of_range"),
        ("('stop', 1)", "out_of_range"),
        ("('jump', 1)", "unknown_action"),
        ("('move', 1, 2)", "not_a_pair"),
        ("[]", "no_action"),
        ("[('move', 0) ('move', 1)]", "malformed"),
        ("[('move', 0),]", "not_a_pair"),
        ("__import__('os')", "no_action"),
    ],
)
def test_tuple_dialect_says_why_not(text: str, expected: str) -> None:
    assert reason(text, "tuple", 3) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("left", "no_action"),
        ('{"name": "move"', "malformed"),
        ('{"name": "move", "name": "stop"}', "malformed"),
        ('{"name": "move", "arguments": {"direction": "left", "direction": "up"}}', "malformed"),
        ('{"name": "move", "arguments": "left"}', "malformed"),
        ('{"name": "move", "arguments": {"direction": "left"}, "id": 1}', "malformed"),
        ('{"name": "move", "arguments": {"direction": "north"}}', "out_of_range"),
        ('{"name": "move", "arguments": {"direction": "stop"}}', "out_of_range"),
        ('{"name": "move", "arguments": {"direction": ["left"]}}', "out_of_range"),
        ('{"name": "move", "arguments": {"direction": "left", "steps": 2}}', "out_of_range"),
        ('{"name": "stop", "arguments": {"now": true}}', "out_of_range"),
        ('{"name": "jump", "arguments": {}}', "unknown_action"),
        ('{"name": null}', "unknown_action"),
        ("[]", "no_action"),
        ("[[]]", "malformed"),
        ("7", "malformed"),
        ("[" * 3000, "malformed"),
        ("1" * 5000, "no_action"),
    ],
)
def test_json_dialect_says_why_not(text: str, expected: str) -> None:
    assert reason(text, "json", 3) == expected


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_stop_may_only_be_the_last_of_several(dialect: str) -> None:
    assert reason(spell([Action.STOP, Action.LEFT], dialect), dialect, 3) is FailureReason.MALFORMED


@pytest.mark.parametrize(
    ("text", "well_formed"),
    [
        ("<think>grey is wall</think>\n<action>up</action>", True),
        ("grey is wall</think><action>up</action>", True),
        ("<observation>o</observation><justification>j</justification><action>up</action>", True),
        ("<justification>j</justification><observation>o</observation><action>up</action>", False),
        ("<observation></observation><action>up</action>", False),
        ("<observation>a <b></observation><action>up</action>", False),
        ("<action>up</action>.", False),
        ("<action>\nUP\n</action>", True),
    ],
)
def test_well_formed_means_nothing_but_the_format(text: str, well_formed: bool) -> None:
    assert parse(text) == ParsedAction((Action.UP,), well_formed)


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="unknown dialect 'xml'"):
        parse("x", "xml")
    with pytest.raises(ValueError, match="unknown dialect 'xml'"):
        spell(Action.UP, "xml")
    with pytest.raises(ValueError, match="at least one action"):
        spell([])
    with pytest.raises(TypeError, match="NoneType"):
        parse(None)  # type: ignore[arg-type]


def test_words_of_actions() -> None:
    one, two = parse("<action>left</action>"), parse("<action>left, up</action>", max_actions=2)
    assert isinstance(one, ParsedAction)
    assert isinstance(two, ParsedAction)
    assert (one.word, one.action, two.word, two.action) == ("left", Action.LEFT, "left,up", Action.LEFT)
