"""The replay page in a real browser: keys, filters, groups, phones, and text that means harm."""

import dataclasses

import pytest

from visgym_maze import StopReason
from visgym_maze.replay import replay_page

pytestmark = pytest.mark.browser

HOSTILE = (
    "</script><script>window.ran = 1</script><script>window.ran = 1</script><!-- <script>"
    '<img src=x onerror="window.ran = 1"><svg onload="window.ran = 1"><a href="javascript:window.ran=1">x</a>'
)


def agent(page):
    row, column = page.get_attribute("#stage .agent", "data-cell").split(",")
    return int(row), int(column)


def where(page):
    """The agent's place on the screen."""
    box = page.locator("#stage .agent").bounding_box()
    return box["x"], box["y"]


def with_text(trajectory, text, **changes):
    turn = trajectory.turns[0]._replace(text=text, **changes)
    return dataclasses.replace(trajectory, turns=(turn, *trajectory.turns[1:]))


def test_the_agent_moves_on_the_key_press(show, solved):
    page = show({"oracle": solved})
    episode = solved[0]
    before = where(page)
    assert agent(page) == episode.layout.start
    for turn in episode.turns:
        page.keyboard.press("ArrowRight")
        assert agent(page) == turn.cell
    assert agent(page) == episode.layout.goal
    page.wait_for_function("document.querySelector('#stage .agent').getAnimations().length === 0")
    assert where(page) != before
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert agent(page) == episode.turns[-3].cell


def test_space_plays_to_the_end(show, solved):
    page = show({"oracle": solved})
    page.clock.install()
    page.keyboard.press(" ")
    assert page.get_attribute("#play", "aria-label") == "Pause"
    page.clock.run_for(20_000)
    assert agent(page) == solved[0].layout.goal
    assert page.get_attribute("#play", "aria-label") == "Play"


def test_j_and_k_go_through_the_episodes(show, solved):
    page = show({"oracle": solved})
    selected = page.locator("#list [aria-current]")
    for key, number in (("j", 1), ("ArrowDown", 2), ("j", 2), ("k", 1), ("ArrowUp", 0), ("k", 0)):
        page.keyboard.press(key)
        assert selected.get_attribute("data-episode") == str(number)
        assert agent(page) == solved[number].layout.start


def test_every_turn_shows_text_action_feedback_and_reward(show, wandering):
    page = show({"random": wandering})
    turns = page.locator("#log .turn")
    assert turns.count() == len(wandering[0].turns)
    for number, turn in enumerate(wandering[0].turns):
        shown = turns.nth(number)
        assert shown.locator(".said").text_content() == turn.text
        assert turn.action in shown.locator("header").inner_text()
        told = [f"feedback: {turn.feedback}"] if turn.feedback else []
        assert shown.locator("p").all_inner_texts() == told
        assert f"{turn.reward:.2f}" in shown.locator("header").inner_text()


def test_filters_leave_the_episodes_of_that_outcome_and_source(show, solved, wandering):
    page = show({"oracle": solved, "random": wandering})
    rows = page.locator("#list button")
    everything = [*solved, *wandering]
    assert rows.count() == len(everything)
    for reason in {t.stop_reason for t in everything}:
        page.click(f"[data-filter='outcome:{reason}']")
        expected = [str(i) for i, t in enumerate(everything) if t.stop_reason is reason]
        assert [row.get_attribute("data-episode") for row in rows.all()] == expected
        assert page.locator("#list [aria-current]").count() == 1
    page.click("[data-filter='outcome:all']")
    page.click("[data-filter='source:1']")
    assert rows.count() == len(wandering)
    page.click("[data-filter='outcome:goal']")
    assert rows.count() == sum(t.success for t in wandering)


def test_a_group_stands_side_by_side_with_its_advantages(show, wandering):
    rewards = (1.0, 0.0, 0.0, 1.0)
    group = [
        dataclasses.replace(t, turns=(*t.turns[:-1], t.turns[-1]._replace(reward=reward)))
        for t, reward in zip(wandering[:4], rewards, strict=True)
    ]
    page = show({"rollouts": [*group, *wandering[4:]]})
    page.keyboard.press("g")
    cards = page.locator("#stage .card")
    assert cards.count() == 4
    # Two of four: mean 0.5, standard deviation 0.577.
    for number, reward in enumerate(rewards):
        assert ("adv. +0.87" if reward else "adv. \N{MINUS SIGN}0.87") in cards.nth(number).inner_text()
    page.keyboard.press("ArrowRight")
    cells = [node.get_attribute("data-cell") for node in page.locator("#stage .agent").all()]
    assert cells == [",".join(map(str, t.turns[0].cell)) for t in group]
    cards.nth(2).click()
    assert page.locator("#stage .card").count() == 0
    assert page.locator("#list [aria-current]").get_attribute("data-episode") == "2"


def test_text_that_a_model_wrote_is_never_markup(show, solved):
    episode = with_text(solved[0], HOSTILE, action=HOSTILE, feedback=HOSTILE)
    failed = with_text(solved[1], HOSTILE, failure=HOSTILE)
    lost = dataclasses.replace(failed, turns=(), info={HOSTILE: HOSTILE}, stop_reason=StopReason.ERROR)
    page = show({HOSTILE: [episode, failed, lost], "b": solved}, HOSTILE)
    for key in ("ArrowRight", "g", "g", "j", "ArrowRight", "j", "g", "ArrowRight"):
        page.keyboard.press(key)
    page.keyboard.press("k")
    assert page.locator("#log .said").first.text_content() == HOSTILE
    assert page.evaluate("window.ran") is None
    assert page.locator("script").count() == 2
    assert page.locator("img, a, svg[onload]").count() == 0
    assert page.text_content("h1") == HOSTILE


def test_the_policy_of_the_page_refuses_markup_from_strings_and_the_network(browser, tmp_path, solved):
    file = tmp_path / "replay.html"
    file.write_text(replay_page({"oracle": solved}), encoding="utf-8")
    page = browser.new_page()
    page.goto(file.as_uri())
    refused = page.evaluate(
        """() => {
            try { document.body.innerHTML = '<b>'; } catch (error) { return error instanceof TypeError; }
        }"""
    )
    assert refused
    blocked = page.evaluate(
        """async () => {
            const seen = new Promise((done) => addEventListener('securitypolicyviolation', done));
            const image = document.createElement('img');
            image.src = 'https://127.0.0.1/x.png';
            document.body.append(image);
            return (await seen).blockedURI;
        }"""
    )
    assert blocked.startswith("https://127.0.0.1")
    page.close()


def test_odd_characters_are_shown_and_reorder_nothing(show, solved):
    text = "a\u202eb\x00c\x1b[31m\r\ud800 \u05e9\u05dc\u05d5\u05dd \U0001f600"
    page = show({"odd": [with_text(solved[0], text)]})
    said = page.locator("#log .said").first
    expected = "a\\u202eb\\u0000c\\u001b[31m\\u000d\\ud800 \u05e9\u05dc\u05d5\u05dd \U0001f600"
    assert said.inner_text() == expected


def test_a_megabyte_of_answer_is_cut_until_asked_for(show, solved):
    page = show({"long": [with_text(solved[0], "x" * 1_000_000)]})
    said = page.locator("#log .said").first
    assert len(said.text_content()) < 10_000
    page.click("text=show all 1,000,000 characters")
    assert len(said.text_content()) == 1_000_000


def test_an_episode_that_was_lost_has_a_page_too(show, solved):
    lost = dataclasses.replace(solved[0], turns=(), stop_reason=None, group=None, rollout=None)
    page = show({"lost": [lost]})
    page.keyboard.press("ArrowRight")
    page.keyboard.press("g")
    page.keyboard.press(" ")
    assert page.locator("#log").inner_text() == "No turn was played."
    assert "unfinished" in page.locator("#facts").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_it_without_scrolling_sideways(show, wandering, scheme):
    page = show(
        {"a source with quite a long name": wandering, "b": wandering},
        viewport={"width": 360, "height": 740},
        color_scheme=scheme,
        has_touch=True,
    )
    page.tap("#forward")
    assert agent(page) == wandering[0].turns[0].cell
    page.tap("#group")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    box = page.locator("#controls").bounding_box()
    assert box["y"] + box["height"] <= 741
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(16, 18, 24)") == (scheme == "dark")
