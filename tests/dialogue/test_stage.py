"""Dialogues under the same rules share what their answers do, and nothing else."""

import pickle
from typing import Any

import pytest

from visgym_maze import Action, Layout, MazeDialogue, RewardSpec, generate
from visgym_maze.dialogue import stage as stages
from visgym_maze.dialogue.stage import Stage

LAYOUT = generate(7, rng=0)
ANSWERS = [f"<action>{word}</action>" for word in ("right", "left", "up", "down")] + ["what?"]


def stage_of(dialogue: MazeDialogue) -> Stage:
    return dialogue._stage


@pytest.mark.parametrize(
    "other",
    [
        {"max_turns": 3},
        {"goal_rule": "reach"},
        {"dialect": "json"},
        {"prompt": "brief"},
        {"observe": "text"},
        {"view": "trail"},
        {"max_moves_per_turn": 2},
    ],
)
def test_the_same_rules_share_a_stage_and_other_rules_do_not(other: dict[str, Any]) -> None:
    twin = Layout.from_dict(LAYOUT.to_dict())
    first, second = MazeDialogue(LAYOUT), MazeDialogue(twin, reward=RewardSpec(step=-1.0))
    assert stage_of(first) is stage_of(second)
    assert stage_of(pickle.loads(pickle.dumps(first))) is stage_of(first)
    assert stage_of(MazeDialogue(LAYOUT, **other)) is not stage_of(first)


def test_what_is_remembered_is_what_would_be_worked_out() -> None:
    stage = stage_of(MazeDialogue(LAYOUT))
    for text in ANSWERS * 2:
        for heading in (0, 1):
            place = LAYOUT.start, Action(heading), text
            assert stage.effect(*place) == stage._work_out(*place)


def test_the_reward_of_one_episode_is_never_that_of_another() -> None:
    def rewards(reward: RewardSpec) -> list[float]:
        dialogue = MazeDialogue(LAYOUT, reward=reward)
        dialogue.reset()
        results = [dialogue.step(text) for text in ANSWERS]
        assert [result.reward for result in results] == [turn.reward for turn in dialogue.turns]
        return [turn.reward for turn in dialogue.turns]

    assert rewards(RewardSpec(step=-1.0)) == [-1.0] * 5
    assert rewards(RewardSpec()) == [0.0] * 5
    assert rewards(RewardSpec(step=-2.0, invalid=-1.0)) == [-2.0] * 4 + [-3.0]


def test_few_answers_are_kept_and_long_ones_never(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "_MOST_EFFECTS", 10)
    stage = Stage(stage_of(MazeDialogue(LAYOUT))._rules)
    for number in range(25):
        stage.effect(LAYOUT.start, stage.first_heading, str(number))
        assert len(stage._effects) <= 10
    kept = len(stage._effects)
    stage.effect(LAYOUT.start, stage.first_heading, "x" * 300)
    assert len(stage._effects) == kept


@pytest.mark.parametrize("answer", [None, 3, b"<action>left</action>", ["left"]])
def test_an_answer_that_is_no_string_is_named(answer: Any) -> None:
    dialogue = MazeDialogue(LAYOUT)
    dialogue.reset()
    with pytest.raises(TypeError, match="an answer is a string, got"):
        dialogue.step(answer)
