"""Episodes as GIF and as contact sheet."""

import dataclasses
import io

import numpy as np
import pytest
from PIL import Image

from visgym_maze import Layout
from visgym_maze.replay import contact_sheet, episode_gif

BLUE = np.array((45, 91, 227))


def agent_cell(frame, layout):
    """The cell in which the agent's colour is most frequent."""
    size = 240 // max(layout.shape)
    pixels = np.asarray(frame.convert("RGB"), dtype=int)[: layout.height * size, : layout.width * size]
    blue = np.abs(pixels - BLUE).sum(axis=2) < 40
    counts = blue.reshape(layout.height, size, layout.width, size).sum(axis=(1, 3))
    return tuple(int(i) for i in np.unravel_index(counts.argmax(), counts.shape))


def test_the_gif_follows_the_agent_cell_by_cell(solved):
    episode = solved[0]
    gif = Image.open(io.BytesIO(episode_gif(episode)))
    cells = [episode.layout.start, *(cell for turn in episode.turns for cell in turn.path)]
    shown = []
    for number in range(gif.n_frames):
        gif.seek(number)
        shown.append(agent_cell(gif, episode.layout))
    # The last turn stops, which enters no cell, and one more frame tells how it ended.
    assert shown == [*cells, cells[-1], cells[-1]]
    assert gif.info["loop"] == 0
    assert gif.info["duration"] > 1000


def test_the_sheet_shows_where_each_episode_ended(wandering):
    sheet = Image.open(io.BytesIO(contact_sheet(wandering[:3], columns=2)))
    assert sheet.format == "PNG"
    width, height = (side // 2 for side in sheet.size)
    for number, episode in enumerate(wandering[:3]):
        left, top = 8 + number % 2 * (width - 4), 8 + number // 2 * (height - 4)
        tile = sheet.crop((left, top, left + 240, top + 240))
        assert agent_cell(tile, episode.layout) == episode.turns[-1].cell


@pytest.mark.parametrize("layout", [Layout.from_ascii("####\n#SG#\n####"), None])
def test_lost_episodes_and_odd_words_make_pictures_too(solved, layout):
    episode = solved[0] if layout is None else dataclasses.replace(solved[0], layout=layout, turns=())
    if episode.turns:
        odd = episode.turns[0]._replace(action="\u202e\x00<b>\ud800" * 50)
        episode = dataclasses.replace(episode, turns=(odd,), stop_reason=None)
    assert Image.open(io.BytesIO(episode_gif(episode))).n_frames >= 1
    Image.open(io.BytesIO(contact_sheet([episode]))).load()


def test_a_sheet_needs_episodes_and_a_caption_for_each(solved):
    with pytest.raises(ValueError, match="at least one episode"):
        contact_sheet([])
    with pytest.raises(ValueError, match="shorter"):
        contact_sheet(solved, captions=["one"])
