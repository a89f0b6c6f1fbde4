"""Faults that rewards of such environments have had in public; each test is named by what it guards."""

import pytest

from visgym_maze import Layout, MazeDialogue, RewardSpec, StopReason, generate

CORRIDOR = Layout.from_ascii("######\n#S..G#\n######")
RECIPE = RewardSpec(success=0.8, format=0.2)
FULL_FORM = "<observation>o</observation><justification>j</justification><action>{}</action>"


def returns(answers: list[str], reward: RewardSpec = RECIPE, layout: Layout = CORRIDOR) -> list[float]:
    dialogue = MazeDialogue(layout, reward=reward)
    dialogue.reset()
    return [dialogue.step(answer).reward for answer in answers]


def test_fifteen_turns_of_well_formed_nonsense_earn_nothing() -> None:
    for word in ("up", "left", "north"):
        assert returns([FULL_FORM.format(word)] * 15) == [0.0] * 15


def test_an_immediate_well_formed_stop_earns_nothing() -> None:
    assert returns([FULL_FORM.format("stop")]) == [0.0]
    for seed in range(20):
        layout = generate(9, rng=seed)
        assert returns([FULL_FORM.format("stop")], layout=layout) == [0.0]


def test_no_format_bonus_without_the_format() -> None:
    moves = ["right", "right", "right", "stop"]
    good = returns([FULL_FORM.format(word) for word in moves])
    chatty = returns([f"<action>{word}</action> I think" for word in moves])
    assert sum(good) == pytest.approx(1.0)
    assert sum(chatty) == pytest.approx(0.8)


def test_success_is_paid_once() -> None:
    dialogue = MazeDialogue(CORRIDOR)
    dialogue.reset()
    for word in ("right", "right", "right", "stop"):
        dialogue.step(f"<action>{word}</action>")
    for answer in ("<action>stop</action>", "<action>left</action>"):
        with pytest.raises(RuntimeError, match="the episode is over"):
            dialogue.step(answer)
    assert dialogue.trajectory().total_reward == 1.0
    assert len(dialogue.turns) == 4


def test_success_is_never_read_off_the_reward() -> None:
    dialogue = MazeDialogue(CORRIDOR, reward=lambda outcome: 5.0)
    dialogue.reset()
    dialogue.step("<action>stop</action>")
    assert dialogue.trajectory().total_reward == 5.0
    assert not dialogue.trajectory().success
    assert dialogue.stop_reason is StopReason.WRONG_STOP


def test_every_reward_stays_on_its_own_turn() -> None:
    spec = RewardSpec(step=-0.01, bump=-0.1, invalid=-0.2)
    answers = ["<action>right</action>", "<action>up</action>", "huh", "<action>stop</action>"]
    dialogue = MazeDialogue(CORRIDOR, reward=spec)
    dialogue.reset()
    results = [dialogue.step(answer).reward for answer in answers]
    assert results == pytest.approx([-0.01, -0.11, -0.21, -0.01])
    assert [turn.reward for turn in dialogue.turns] == results
    assert dialogue.trajectory().total_reward == pytest.approx(sum(results))


def test_walking_up_to_the_goal_never_pays_more_than_reaching_it() -> None:
    shaped = RewardSpec(progress=0.99)
    waiting = sum(returns([f"<action>{w}</action>" for w in ["right"] * 3 + ["up"] * 12], shaped))
    arriving = sum(returns([f"<action>{w}</action>" for w in ["right"] * 3 + ["stop"]], shaped))
    assert waiting < arriving


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_reward_that_is_no_number_does_not_reach_the_trainer(value: float) -> None:
    dialogue = MazeDialogue(CORRIDOR, reward=lambda outcome: value)
    dialogue.reset()
    with pytest.raises(ValueError, match="the reward of turn 1 is"):
        dialogue.step("<action>right</action>")
