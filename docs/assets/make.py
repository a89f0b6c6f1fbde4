"""How were the pictures of this folder made? ``python docs/assets/make.py RUN`` with the folder of a run.

They show the replay that the run has left, in a headless Chromium, and episodes of its last training step.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from visgym_maze.files import write_bytes
from visgym_maze.replay import contact_sheet, episode_gif, group_of, read_trajectories

FOLDER = Path(__file__).parent
FILTERS = (
    "[data-filter^='source:']:last-child",
    "[data-filter='outcome:goal']",
    "[data-filter='outcome:all']",
)
"""The training groups; of those the first episode that was solved; and the others beside it."""


def screenshots(browser: Browser, replay: Path) -> None:
    """An episode by day, a group by night, and a phone."""
    desk, phone = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
    for name, scheme, size, keys in (
        ("replay", "light", desk, ["ArrowRight"] * 6),
        ("replay-group", "dark", desk, ["g"] + ["ArrowRight"] * 8),
        ("replay-phone", "light", phone, ["ArrowRight"] * 4),
    ):
        page = browser.new_page(viewport=size, color_scheme=scheme, device_scale_factor=1.5)
        page.goto(replay.absolute().as_uri())
        page.wait_for_selector("body[data-ready]")
        for chip in FILTERS:
            page.click(chip)
        for key in keys:
            page.keyboard.press(key)
        page.wait_for_timeout(500)  # until the agent has arrived
        page.screenshot(path=FOLDER / f"{name}.png")
        page.close()


def main() -> None:
    """Make all pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, help="folder of a run that has ended")
    run: Path = parser.parse_args().run
    rollouts = read_trajectories(max((run / "rollouts").glob("*.jsonl")))
    chosen = next(t for t in rollouts if t.success)
    write_bytes(FOLDER / "episode.gif", episode_gif(chosen))
    group = [t for t in rollouts if group_of(t) == group_of(chosen)]
    write_bytes(FOLDER / "group.png", contact_sheet(group))
    with sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        screenshots(browser, run / "replay.html")
        browser.close()


if __name__ == "__main__":
    main()
