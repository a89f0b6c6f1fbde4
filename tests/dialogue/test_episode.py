import json

import numpy as np
import pytest

from visgym_maze import (
    Action,
    Layout,
    MazeDialogue,
    StopReason,
    Trajectory,
    TurnOutcome,
    picture_urls,
    solve,
    spell,
)
from visgym_maze.dialogue.dialects import DIALECTS

CORRIDOR = Layout.from_ascii("#######\n#S...G#\n#.#####\n#######")


def start(**options: object) -> MazeDialogue:
    dialogue = MazeDialogue(CORRIDOR, **options)  # type: ignore[arg-type]
    dialogue.reset()
    return dialogue


def play(dialogue: MazeDialogue, *words: str) -> None:
    for word in words:
        dialogue.step(f"<action>{word}</action>")


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_the_shortest_path_and_a_stop_succeed(dialect: str) -> None:
    dialogue = start(dialect=dialect)
    for action in (*solve(CORRIDOR).path(), Action.STOP):
        result = dialogue.step(spell(action, dialect))
    assert (result.done, result.terminated, result.truncated, result.reward) == (True, True, False, 1.0)
    assert result.messages == []
    assert dialogue.stop_reason is StopReason.GOAL
    assert dialogue.trajectory().success


def test_a_stop_elsewhere_fails() -> None:
    dialogue = start()
    play(dialogue, "right", "stop")
    assert dialogue.stop_reason is StopReason.WRONG_STOP
    assert dialogue.trajectory().total_reward == 0.0


def test_standing_on_the_goal_ends_the_episode_only_under_the_rule_reach() -> None:
    reach, stop = start(goal_rule="reach"), start()
    play(reach, *["right"] * 4)
    play(stop, *["right"] * 4)
    assert reach.stop_reason is StopReason.GOAL
    assert not stop.done


def test_feedback_says_what_happened() -> None:
    dialogue = start()
    play(dialogue, "up", "right")
    dialogue.step("???")
    assert [turn.feedback for turn in dialogue.turns] == [
        "A wall is in the way. You did not move.",
        "You moved one cell.",
        "No action was taken (no action).",
    ]
    assert [turn.bumped for turn in dialogue.turns] == [True, False, False]
    assert dialogue.messages[-1]["content"][0]["text"].startswith("No action was taken (no action).")


def test_without_feedback_the_policy_reads_nothing_about_its_answer() -> None:
    dialogue = start(feedback=False)
    play(dialogue, "up")
    assert dialogue.messages[-1]["content"][0]["text"] == "14 answers left."
    assert dialogue.turns[0].feedback == "A wall is in the way. You did not move."


def test_feedback_of_one_episode_does_not_reach_the_next() -> None:
    dialogue = start()
    play(dialogue, "up", "right")
    fresh = start()
    assert dialogue.reset() == fresh.messages
    assert (dialogue.turns, dialogue.cell, dialogue.stop_reason) == ([], CORRIDOR.start, None)


class TestSeveralMoves:
    def test_they_count_as_one_turn(self) -> None:
        dialogue = start(max_moves_per_turn=5)
        result = dialogue.step("<action>right, right, right, right, stop</action>")
        assert result.terminated
        assert dialogue.stop_reason is StopReason.GOAL
        assert len(dialogue.turns) == 1
        assert result.turn.path == ((1, 2), (1, 3), (1, 4), (1, 5))
        assert result.turn.action == "right,right,right,right,stop"
        assert dialogue.trajectory().moves == 4

    def test_the_first_wall_ends_the_turn(self) -> None:
        dialogue = start(max_moves_per_turn=5)
        result = dialogue.step("<action>right, up, right, stop</action>")
        assert (dialogue.cell, result.turn.bumped, result.done) == ((1, 2), True, False)
        assert result.turn.feedback == "You moved 1 of the cells; then a wall was in the way."
        result = dialogue.step("<action>right, right</action>")
        assert result.turn.feedback == "You moved 2 cells."
        result = dialogue.step("<action>up, left</action>")
        assert result.turn.feedback == "A wall is in the way. You did not move."

    def test_an_answer_with_a_flaw_moves_nothing(self) -> None:
        dialogue = start(max_moves_per_turn=3)
        for answer in ("right, jump", "right, right, right, right", "stop, right"):
            result = dialogue.step(f"<action>{answer}</action>")
            assert result.turn.failure is not None
            assert dialogue.cell == CORRIDOR.start

    def test_reaching_the_goal_ends_the_turn_under_the_rule_reach(self) -> None:
        dialogue = start(max_moves_per_turn=6, goal_rule="reach")
        dialogue.step("<action>right, right, right, right, left, left</action>")
        assert dialogue.stop_reason is StopReason.GOAL
        assert dialogue.cell == CORRIDOR.goal

    def test_passing_the_goal_is_no_success(self) -> None:
        dialogue = start(max_moves_per_turn=6)
        dialogue.step("<action>right, right, right, right, left, stop</action>")
        assert dialogue.stop_reason is StopReason.WRONG_STOP


def test_what_is_seen_depends_on_observe() -> None:
    kinds = {kind: start(observe=kind).messages[-1]["content"] for kind in ("image", "text", "both", "blank")}
    types = {kind: [part["type"] for part in content] for kind, content in kinds.items()}
    assert types["image"] == types["both"] == types["blank"] == ["text", "image_url"]
    assert types["text"] == ["text"]
    assert "#A...G#" in kinds["text"][0]["text"]
    assert "#A...G#" in kinds["both"][0]["text"]
    assert kinds["blank"][0] == kinds["image"][0]
    assert kinds["blank"][1] != kinds["image"][1]


def test_the_blank_picture_is_the_same_everywhere() -> None:
    dialogue = start(observe="blank")
    play(dialogue, "right", "right", "down")
    assert len(set(picture_urls(dialogue.messages))) == 1


@pytest.mark.parametrize("view", ["top-down", "coordinates", "trail", "fog", "first-person"])
@pytest.mark.parametrize("observe", ["image", "text", "both", "blank"])
def test_every_view_serves_the_same_dialogue(view: str, observe: str) -> None:
    dialogue = start(view=view, observe=observe)
    play(dialogue, "right", "down", "right", "right", "right", "stop")
    assert dialogue.stop_reason is StopReason.GOAL
    assert len(picture_urls(dialogue.messages)) == (0 if observe == "text" else 6)


def test_the_first_person_view_turns_with_the_agent() -> None:
    dialogue = start(view="first-person")
    play(dialogue, "down", "up", "up")
    texts = [message["content"][0]["text"] for message in dialogue.messages if message["role"] == "user"]
    assert [text.rsplit("\n", 1)[1] for text in texts] == [
        "You face right.",
        "You face down.",
        "You face up.",
        "You face up.",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_turns": 0}, "max_turns must be at least 1, got 0"),
        ({"max_moves_per_turn": 0}, "max_moves_per_turn must be at least 1"),
        ({"dialect": "xml"}, "unknown dialect 'xml'; known: tag, tuple, json"),
        ({"observe": "smell"}, "unknown observe 'smell'"),
        ({"goal_rule": "touch"}, "unknown goal_rule 'touch'"),
        ({"style": "pink"}, "unknown style 'pink'"),
        ({"view": "x-ray"}, "unknown view 'x-ray'"),
        ({"image_mode": "jpeg"}, "unknown PNG mode 'jpeg'"),
        ({"view": "fog", "style": "dark"}, "either view or style"),
    ],
)
def test_bad_options_are_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        start(**options)


def test_an_unreachable_goal_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be reached"):
        MazeDialogue(Layout.from_ascii("#####\n#S#G#\n#####"))


def test_aborting_keeps_the_first_reason() -> None:
    dialogue = start()
    dialogue.abort(StopReason.CONTEXT_LIMIT)
    dialogue.abort(StopReason.TIMEOUT)
    assert dialogue.stop_reason is StopReason.CONTEXT_LIMIT
    with pytest.raises(RuntimeError, match="the episode is over"):
        dialogue.step("x")


def test_numpy_integers_are_integers() -> None:
    dialogue = start(max_turns=np.int64(2), max_moves_per_turn=np.int32(2))
    dialogue.step("<action>right, right</action>")
    record = dialogue.trajectory(group=0, rollout=1, temperature=0.5).to_dict()
    assert json.loads(json.dumps(record)) == record


def test_a_trajectory_survives_json() -> None:
    dialogue = start(max_moves_per_turn=2)
    play(dialogue, "right, right", "oops", "up", "stop")
    trajectory = dialogue.trajectory(group=3, rollout=1, policy="me")
    again = Trajectory.from_dict(json.loads(json.dumps(trajectory.to_dict())))
    assert again == trajectory
    assert again.moves == 2


def test_a_reward_of_ones_own_is_called_once_a_turn() -> None:
    seen: list[TurnOutcome] = []

    def reward(outcome: TurnOutcome) -> float:
        seen.append(outcome)
        return float(outcome.turn)

    dialogue = start(reward=reward, max_turns=3)
    play(dialogue, "right", "up")
    dialogue.step("?")
    assert [turn.reward for turn in dialogue.turns] == [1.0, 2.0, 3.0]
    assert [(o.distance_before, o.distance_after, o.moves, o.acted, o.bumped) for o in seen] == [
        (4, 3, 1, True, False),
        (3, 3, 1, True, True),
        (3, 3, 1, False, False),
    ]
    assert [(o.well_formed, o.terminated, o.truncated) for o in seen] == [
        (1, False, False),
        (2, False, False),
        (2, False, True),
    ]
