"""The loop over an OpenAI-compatible client: what it sends, and what happens when a request fails."""

import asyncio
from types import SimpleNamespace

import pytest

from visgym_maze import Group, MazeDialogue, Split, StopReason, picture_urls
from visgym_maze.adapters.chat_client import play, play_groups

LEVELS = Split.make("train", size=7, n=2)


class Endpoint:
    """Answers what it is told to, and counts."""

    def __init__(self, *answers, fail_at=None):
        self.answers, self.fail_at = answers, fail_at
        self.requests, self.open, self.most_open = [], 0, 0
        self.chat = SimpleNamespace(completions=self)

    async def create(self, **request):
        self.requests.append(request)
        if len(self.requests) == self.fail_at:
            raise ConnectionError("refused")
        self.open += 1
        self.most_open = max(self.open, self.most_open)
        await asyncio.sleep(0)
        self.open -= 1
        answered = sum(message["role"] == "assistant" for message in request["messages"])
        text = self.answers[min(answered, len(self.answers) - 1)]
        return SimpleNamespace(choices=[SimpleNamespace(message=SimpleNamespace(content=text))])


def test_every_request_holds_the_whole_conversation_with_its_pictures():
    endpoint = Endpoint("<action>up</action>")
    dialogue = MazeDialogue(LEVELS[0], max_turns=4)
    played = asyncio.run(play(endpoint, "m", dialogue, sampling={"temperature": 0.5}))
    assert [len(picture_urls(r["messages"])) for r in endpoint.requests] == [1, 2, 3, 4]
    assert {(r["model"], r["temperature"]) for r in endpoint.requests} == {("m", 0.5)}
    assert played.stop_reason is StopReason.TURN_LIMIT
    assert played.info == {"model": "m", "temperature": 0.5}


def test_old_pictures_can_be_left_out():
    endpoint = Endpoint("<action>up</action>")
    asyncio.run(play(endpoint, "m", MazeDialogue(LEVELS[0], max_turns=4), images=2))
    assert [len(picture_urls(r["messages"])) for r in endpoint.requests] == [1, 2, 2, 2]


def test_an_answer_without_content_is_an_answer_without_an_action():
    played = asyncio.run(play(Endpoint(None), "m", MazeDialogue(LEVELS[0], max_turns=2)))
    assert [turn.failure for turn in played.turns] == ["empty", "empty"]


def test_a_failed_request_ends_its_episode_and_no_other():
    endpoint = Endpoint("<action>stop</action>", fail_at=2)
    groups = [Group(5, LEVELS[0], 2), Group(6, LEVELS[1], 2)]
    played = asyncio.run(play_groups(endpoint, "m", groups, concurrency=3))
    assert [(t.group, t.rollout) for t in played] == [(5, 0), (5, 1), (6, 0), (6, 1)]
    assert [t.layout for t in played] == [LEVELS[0], LEVELS[0], LEVELS[1], LEVELS[1]]
    reasons = [t.stop_reason for t in played]
    assert reasons == [StopReason.WRONG_STOP, StopReason.ERROR, StopReason.WRONG_STOP, StopReason.WRONG_STOP]
    assert played[1].info["error"] == "ConnectionError: refused"
    assert 1 < endpoint.most_open <= 3


def test_no_concurrency_at_all_is_an_error():
    with pytest.raises(ValueError, match="concurrency must be at least 1, got 0"):
        asyncio.run(play_groups(Endpoint("x"), "m", [], concurrency=0))
