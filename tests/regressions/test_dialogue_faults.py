"""Faults that such environments have had in public; each test is named by what it guards."""

import copy
import pickle
import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from visgym_maze import (
    Action,
    GroupSampler,
    Layout,
    MazeDialogue,
    OraclePolicy,
    RewardSpec,
    StopReason,
    demonstrate,
    generate,
    picture_urls,
    rollout,
    spell,
)
from visgym_maze.view.top_down import TopDown
from visgym_maze.view.top_down_camera import camera_of

CORRIDOR = Layout.from_ascii("######\n#S..G#\n######")
VIEWS = ["top-down", "trail", "fog", "coordinates", "first-person"]


def started(layout: Layout = CORRIDOR, **options: Any) -> MazeDialogue:
    dialogue = MazeDialogue(layout, **options)
    dialogue.reset()
    return dialogue


def answers(count: int, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    return [spell(Action(int(a))) for a in rng.integers(4, size=count)]


class TestEpisodes:
    def test_a_step_before_reset_is_an_error(self) -> None:
        with pytest.raises(RuntimeError, match="call reset"):
            MazeDialogue(CORRIDOR).step("<action>up</action>")

    def test_the_second_reset_shows_the_maze_and_not_the_last_picture(self) -> None:
        dialogue = started()
        first = dialogue.messages
        dialogue.step("<action>right</action>")
        assert dialogue.reset() == first

    def test_feedback_does_not_survive_reset(self) -> None:
        dialogue = started()
        dialogue.step("<action>up</action>")
        texts = str(dialogue.reset())
        assert "wall is in the way" not in texts

    @pytest.mark.parametrize("rule", ["stop", "reach"])
    def test_success_on_the_last_turn_counts_and_is_no_truncation(self, rule: str) -> None:
        words = ["right"] * 3 + ["stop"] * (rule == "stop")
        dialogue = started(max_turns=len(words), goal_rule=rule)
        results = [dialogue.step(f"<action>{word}</action>") for word in words]
        assert (results[-1].terminated, results[-1].truncated) == (True, False)
        assert dialogue.stop_reason is StopReason.GOAL
        with pytest.raises(RuntimeError, match="the episode is over"):
            dialogue.step("<action>stop</action>")

    def test_standing_on_the_goal_at_the_cap_is_truncation(self) -> None:
        dialogue = started(max_turns=3)
        result = [dialogue.step("<action>right</action>") for _ in range(3)][-1]
        assert dialogue.cell == CORRIDOR.goal
        assert (result.reward, result.terminated, result.truncated) == (0.0, False, True)
        assert dialogue.stop_reason is StopReason.TURN_LIMIT

    def test_feedback_repeats_nothing_of_the_answer_and_stays_short(self) -> None:
        dialogue = started(max_turns=100)
        for text in ("x" * 100_000, "<action>" + "secret" * 50 + "</action>", "('secret',", "\x00"):
            result = dialogue.step(text)
            assert len(result.turn.feedback) < 80
            assert "secret" not in str(result.messages)

    def test_later_messages_only_append_to_earlier_ones(self) -> None:
        dialogue = started(generate(9, rng=0))
        before = dialogue.messages
        for text in answers(14):
            dialogue.step(text)
            now = dialogue.messages
            assert now[: len(before)] == before
            assert len(now) == len(before) + 2
            before = now

    @pytest.mark.parametrize("view", VIEWS)
    def test_every_turn_has_its_own_picture(self, view: str) -> None:
        dialogue = started(generate(9, rng=0), view=view)
        for number, text in enumerate(answers(14), start=2):
            result = dialogue.step(text)
            assert len(picture_urls(result.messages)) == 1
            urls = picture_urls(dialogue.messages)
            assert len(urls) == number
            assert urls[-1] == picture_urls(result.messages)[0]
        assert len(set(urls)) > 1


class TestCopies:
    @pytest.mark.parametrize("view", VIEWS)
    @pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d))])
    def test_a_copy_in_mid_episode_has_the_same_future(self, view: str, duplicate: Any) -> None:
        options: dict[str, Any] = {"reward": RewardSpec(progress=0.5, per_turn=False), "observe": "both"}
        original = started(generate(9, rng=0), view=view, **options)
        for text in answers(5):
            original.step(text)
        other = duplicate(original)
        untouched = other.messages
        first = [original.step(text) for text in answers(10, seed=1)]
        assert other.messages == untouched
        assert [other.step(text) for text in answers(10, seed=1)] == first
        assert other.trajectory() == original.trajectory()
        assert other.messages == original.messages

    def test_what_is_handed_out_can_be_changed_without_harm(self) -> None:
        dialogue, twin = started(), started()
        opening = dialogue.messages
        result = dialogue.step("<action>right</action>")
        for messages in (opening, result.messages, dialogue.messages, dialogue.conversation(history=0)):
            for message in messages:
                if isinstance(message["content"], list):
                    for part in message["content"]:
                        part.clear()
                    message["content"].clear()
                message["role"] = "nobody"
            messages.clear()
        twin.step("<action>right</action>")
        assert dialogue.messages == twin.messages

    def test_members_of_a_group_share_no_state(self) -> None:
        first, second = GroupSampler([CORRIDOR], 2).take(1)[0].dialogues()
        opening = first.reset()
        second.reset()
        for message in opening:
            message["content"][0]["text"] = "changed"
        first.step("<action>right</action>")
        assert (second.turns, second.cell) == ([], CORRIDOR.start)
        assert "changed" not in str(second.messages)


class TestGroups:
    def test_all_members_of_a_group_play_one_maze_and_groups_differ(self) -> None:
        levels = [generate(9, rng=seed) for seed in range(16)]
        groups = GroupSampler(levels, 8, seed=0).take(16)
        played = rollout(OraclePolicy(), groups, max_turns=40)
        keys = [{t.layout.key for t in played if t.group == group.index} for group in groups]
        assert [len(k) for k in keys] == [1] * 16
        assert len(set.union(*keys)) == 16

    def test_a_resumed_sampler_neither_skips_nor_repeats(self) -> None:
        levels = [generate(7, rng=seed) for seed in range(7)]
        whole = [g.layout.key for g in GroupSampler(levels, 8, seed=5).take(30)]
        for stop in (1, 6, 7, 8, 20):
            first = GroupSampler(levels, 8, seed=5)
            head = [g.layout.key for g in first.take(stop)]
            second = GroupSampler(levels, 8, seed=5)
            second.load_state_dict(first.state_dict())
            assert head + [g.layout.key for g in second.take(30 - stop)] == whole

    def test_no_two_seeds_give_the_same_order(self) -> None:
        levels = [generate(9, rng=seed) for seed in range(30)]
        seeds = [0, 1, 2, 2**32, 2**32 + 1, 2**40 + 1, 2**63]
        orders = {tuple(g.layout.key for g in GroupSampler(levels, seed=seed).take(60)) for seed in seeds}
        assert len(orders) == len(seeds)
        halves = [order[i : i + 30] for order in orders for i in (0, 30)]
        assert len(set(halves)) == 2 * len(seeds)
        numpy_seed: Any = np.int64(2)
        assert [g.layout for g in GroupSampler(levels, seed=numpy_seed).take(9)] == [
            g.layout for g in GroupSampler(levels, seed=2).take(9)
        ]


class TestOracle:
    def test_it_stops_once_and_draws_nothing_from_shared_generators(self) -> None:
        levels = [generate(7, rng=seed, max_moves=8) for seed in range(6)]
        random.seed(1)
        legacy, standard = np.random.get_state()[1].tolist(), random.getstate()
        rng = np.random.default_rng(3)
        transcripts = list(demonstrate(levels, detours=0.3, rng=5))
        for dialogue in transcripts:
            assert [turn.action for turn in dialogue.turns].count("stop") == 1
            assert dialogue.turns[-1].action == "stop"
        assert np.random.get_state()[1].tolist() == legacy
        assert random.getstate() == standard
        assert generate(7, rng=rng) == generate(7, rng=np.random.default_rng(3))


class TestThreads:
    def test_thirty_two_threads_see_what_one_sees(self) -> None:
        levels = [generate(9, rng=seed) for seed in range(6)]

        def play(number: int) -> list[Any]:
            view = VIEWS[number % len(VIEWS)]
            dialogue = started(levels[number % len(levels)], view=view)
            for text in answers(15, seed=number % 4):
                dialogue.step(text)
            return dialogue.messages

        with ThreadPoolExecutor(32) as pool:
            many = list(pool.map(play, range(120)))
        assert many == [play(number) for number in range(120)]

    def test_memory_does_not_grow_with_the_number_of_episodes(self) -> None:
        def play(seed: int) -> None:
            dialogue = started(generate(5, "wilson", seed, endpoints="random"), view="trail")
            for text in answers(4, seed):
                if not dialogue.done:
                    dialogue.step(text)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(play, range(1000)))
        info = camera_of.cache_info()
        assert info.maxsize is not None
        assert info.currsize <= info.maxsize
        camera = TopDown(trail=True).camera(CORRIDOR)
        for length in range(400):
            camera.data_uri((1, 1), [(1, 1)] * length, Action.UP)
        assert camera._uris == {}
