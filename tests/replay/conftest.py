"""Episodes to look at, and a real Chromium to look at them with."""

import shutil

import pytest

from visgym_maze import GroupSampler, OraclePolicy, RandomPolicy, Split, moves_within, rollout
from visgym_maze.replay import replay_page

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def play(policy, mazes, group_size=1):
    """Episodes of every maze, in groups."""
    levels = Split.make("eval", size=7, n=mazes, max_moves=moves_within(15))
    return rollout(policy, GroupSampler(levels, group_size, shuffle=False).take(mazes))


@pytest.fixture(scope="session")
def solved():
    return play(OraclePolicy(), 3)


@pytest.fixture(scope="session")
def wandering():
    """Two groups of four rollouts of a policy that picks actions at random."""
    return play(RandomPolicy(seed=0), 2, group_size=4)


@pytest.fixture(scope="module")
def browser():
    """A headless Chromium; without one, the tests that need it are skipped and say so.

    It goes with its module, because other tests need an event loop and Playwright holds on to its own.
    """
    if CHROMIUM is None:
        pytest.skip("no Chromium on the PATH; Debian: apt install chromium")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as tools:
        # Chromium's sandbox refuses to work for root, whom containers run as; the pages are our own.
        chromium = tools.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def show(browser, tmp_path):
    """Opens a replay of some episodes; afterwards, nothing may have been fetched or gone wrong."""
    pages, requests, faults = [], [], []

    def opened(sources, title="A replay", **options):
        file = tmp_path / f"{len(pages)}.html"
        file.write_text(replay_page(sources, title), encoding="utf-8")
        page = browser.new_page(**options)
        pages.append(page)
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: faults.append(message.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(file.as_uri())
        page.wait_for_selector("body[data-ready]", timeout=10_000)
        return page

    yield opened
    for page in pages:
        page.close()
    assert len(requests) == len(pages)
    assert faults == []
