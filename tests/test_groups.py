import json
import pickle

import numpy as np
import pytest

from visgym_maze import (
    ChatPolicy,
    GroupSampler,
    Message,
    OraclePolicy,
    RandomPolicy,
    generate,
    picture_urls,
    rollout,
)

LEVELS = [generate(7, rng=seed) for seed in range(5)]


def test_an_epoch_plays_every_maze_once_and_the_next_in_another_order() -> None:
    groups = GroupSampler(LEVELS, 4, seed=1).take(15)
    epochs = [[group.layout.key for group in groups[i : i + 5]] for i in (0, 5, 10)]
    assert all(sorted(epoch) == sorted(layout.key for layout in LEVELS) for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) > 1
    assert [group.index for group in groups] == list(range(15))


def test_without_shuffling_the_order_is_that_of_the_levels() -> None:
    groups = GroupSampler(LEVELS, 1, shuffle=False).take(7)
    assert [group.layout for group in groups] == [*LEVELS, *LEVELS[:2]]


@pytest.mark.parametrize("after", [0, 3, 5, 8])
def test_a_restored_sampler_goes_on_where_the_other_stopped(after: int) -> None:
    whole = [group.layout for group in GroupSampler(LEVELS, 2, seed=3).take(12)]
    stopped = GroupSampler(LEVELS, 2, seed=3)
    stopped.take(after)
    restored = GroupSampler(LEVELS, 2, seed=3)
    restored.load_state_dict(json.loads(json.dumps(stopped.state_dict())))
    copied = pickle.loads(pickle.dumps(stopped))
    for sampler in (restored, copied):
        assert [group.layout for group in sampler.take(12 - after)] == whole[after:]


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (GroupSampler(LEVELS, 2, seed=4), "seed 4, this one has seed 3"),
        (GroupSampler(LEVELS[:4], 2, seed=3), "levels 4, this one has levels 5"),
        (GroupSampler([*LEVELS[:4], generate(7, rng=9)], 2, seed=3), "levels_key .* this one has levels_key"),
        (GroupSampler(LEVELS[::-1], 2, seed=3), "levels_key .* this one has levels_key"),
        (GroupSampler(LEVELS, 2, seed=3, shuffle=False), "shuffle 0, this one has shuffle 1"),
    ],
)
def test_the_state_of_another_sequence_is_refused(other: GroupSampler, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GroupSampler(LEVELS, 2, seed=3).load_state_dict(other.state_dict())


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="at least one maze"):
        GroupSampler([])
    with pytest.raises(ValueError, match="group_size must be at least 1, got 0"):
        GroupSampler(LEVELS, 0)
    sampler = GroupSampler(LEVELS)
    with pytest.raises(ValueError, match="can't continue from position -1"):
        sampler.load_state_dict({**sampler.state_dict(), "next": -1})
    assert GroupSampler(LEVELS, np.int64(3)).take(1)[0].size == 3


def test_rollouts_come_back_group_by_group() -> None:
    groups = GroupSampler(LEVELS, 3, seed=0).take(4)
    seen: list[tuple[int, int]] = []
    played = rollout(RandomPolicy(0), groups, on_turn=lambda done, of: seen.append((done, of)), max_turns=9)
    assert [(t.group, t.rollout) for t in played] == [(g.index, m) for g in groups for m in range(3)]
    assert [t.layout for t in played] == [g.layout for g in groups for _ in range(3)]
    assert all(t.stop_reason is not None and len(t.turns) <= 9 for t in played)
    assert seen == sorted(seen)
    assert seen[-1] == (12, 12)


@pytest.mark.parametrize("dialect", ["tag", "tuple", "json"])
@pytest.mark.parametrize("several", [1, 4])
@pytest.mark.parametrize("goal_rule", ["stop", "reach"])
def test_the_oracle_solves_everything_by_a_shortest_path(dialect: str, several: int, goal_rule: str) -> None:
    played = rollout(
        OraclePolicy(),
        GroupSampler(LEVELS, 1).take(5),
        dialect=dialect,
        max_moves_per_turn=several,
        goal_rule=goal_rule,
        max_turns=40,
    )
    assert all(t.success for t in played)
    assert all(turn.well_formed and not turn.bumped for t in played for turn in t.turns)


def test_a_chat_policy_reads_the_conversation_it_asked_for() -> None:
    lengths: list[tuple[int, int]] = []

    def answer(messages: list[Message]) -> str:
        lengths.append((len(messages), len(picture_urls(messages))))
        return "<action>up</action>"

    groups = GroupSampler(LEVELS, 1).take(1)
    rollout(ChatPolicy(answer, history=2, images=1), groups, max_turns=4)
    assert lengths == [(1, 1), (3, 1), (5, 1), (5, 1)]


def test_a_bare_function_is_no_policy_and_the_error_says_what_makes_it_one() -> None:
    with pytest.raises(TypeError, match=r"ChatPolicy\(function\)"):
        rollout(lambda messages: "x", [])  # type: ignore[arg-type]


def test_a_policy_that_answers_too_few_is_named() -> None:
    class Silent:
        def act(self, dialogues: object) -> list[str]:
            return []

    with pytest.raises(ValueError, match="asked for 2 answers, the policy gave 0"):
        rollout(Silent(), GroupSampler(LEVELS, 2).take(1))
