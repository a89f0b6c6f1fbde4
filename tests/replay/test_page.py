"""What is in the replay's file: its size, its data, and what a browser is told to refuse."""

import base64
import dataclasses
import gzip
import hashlib
import json
import math
import re

import numpy as np
import pytest

from visgym_maze import GroupSampler, Split, rollout
from visgym_maze.replay import replay_page


class Wordy:
    """Always walks up, so that no episode ends early, after 1,000 characters of words made up from a seed."""

    def __init__(self):
        self.rng = np.random.default_rng(0)
        letters = self.rng.integers(ord("a"), ord("z") + 1, size=(2000, 6), dtype=np.uint8)
        self.words = [bytes(row).decode() for row in letters]

    def act(self, dialogues):
        return [self.thought() + "<action>up</action>" for _ in dialogues]

    def thought(self):
        return " ".join(self.words[i] for i in self.rng.integers(len(self.words), size=143))


def content(page):
    packed = re.search(r'<script type="application/gzip" id="data">(.*?)</script>', page)[1]
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def test_five_hundred_wordy_episodes_stay_under_five_megabytes():
    groups = GroupSampler(Split.make("eval", size=9, n=63), 8, shuffle=False).take(63)
    episodes = rollout(Wordy(), groups)
    spoken = sum(len(turn.text) for t in episodes for turn in t.turns)
    page = replay_page({"rollouts": episodes})
    assert len(episodes) > 500
    assert spoken > 7_500_000
    assert len(page.encode()) < 5_000_000
    assert len(content(page)["mazes"]) == 63


def test_the_page_carries_the_episodes_as_they_were(wandering):
    found = content(replay_page({"a": wandering[:4], "b": wandering[4:]}, "Title"))
    assert found["title"] == "Title"
    assert found["sources"] == ["a", "b"]
    for episode, trajectory in zip(found["episodes"], wandering, strict=True):
        assert found["mazes"][episode["maze"]]["maze"] == trajectory.layout.to_ascii().split("\n")
        assert episode["outcome"] == trajectory.stop_reason
        assert [turn["text"] for turn in episode["turns"]] == [turn.text for turn in trajectory.turns]
        assert [tuple(turn["cell"]) for turn in episode["turns"]] == [turn.cell for turn in trajectory.turns]


def test_no_text_of_an_episode_stands_in_the_page_as_it_is(solved):
    marker = "</script><!--<script>"
    turn = solved[0].turns[0]._replace(text=marker, feedback=marker)
    episode = dataclasses.replace(solved[0], turns=(turn,), info={marker: marker})
    page, plain = replay_page({marker: [episode]}, marker), replay_page({"a": solved})
    assert page.count("<") == plain.count("<")
    assert content(page)["episodes"][0]["turns"][0]["text"] == marker


def test_the_policy_names_the_hashes_of_the_two_inline_blocks(solved):
    page = replay_page({"a": solved})
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    for block in (
        re.search(r"<style>(.*?)</style>", page, re.S),
        re.search(r"<script>(.*?)</script>", page, re.S),
    ):
        digest = base64.b64encode(hashlib.sha256(block[1].encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)
    assert not re.search(r'\s(style|on\w+)="', page)


def test_the_script_never_makes_markup_from_a_string(solved):
    page = replay_page({"a": solved})
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|srcdoc", page
    )


def test_numbers_that_json_does_not_know_reach_the_page_as_text(solved):
    episode = dataclasses.replace(solved[0], info={"loss": math.nan, "n": 3, "odd": {1, 2}})
    info = content(replay_page({"a": [episode]}))["episodes"][0]["info"]
    assert info == {"loss": "NaN", "n": "3", "odd": '"{1, 2}"'}


def test_equal_episodes_give_equal_pages(solved):
    assert replay_page({"a": solved}) == replay_page({"a": list(solved)})


@pytest.mark.parametrize("sources", [{}, {"a": []}])
def test_a_page_without_episodes_is_refused(sources):
    with pytest.raises(ValueError, match="at least one episode"):
        replay_page(sources)
