"""A picture joined from strips is a PNG file whose checksums hold, whichever strip was exchanged."""

import zlib
from dataclasses import replace

import numpy as np
import pytest

from visgym_maze import STYLES, Style, TopDown, generate, render
from visgym_maze.view.png import encode_png


def chunks(png: bytes) -> dict[bytes, bytes]:
    """The chunks of a file by kind, after a check of their checksums."""
    found: dict[bytes, bytes] = {}
    position = 8
    while position < len(png):
        length = int.from_bytes(png[position : position + 4], "big")
        body = png[position + 4 : position + 8 + length]
        position += 12 + length
        assert zlib.crc32(body) == int.from_bytes(png[position - 4 : position], "big")
        found[body[:4]] = body[4:]
    return found


@pytest.mark.parametrize(
    "view",
    [
        TopDown(),
        TopDown(mode="rgb"),
        TopDown(STYLES["patch16"], coordinates=True),
        TopDown(Style(cell=13, pad_to=64), trail=True, fog=2),
    ],
)
def test_the_checksums_of_joined_strips_hold_wherever_the_agent_stands(view: TopDown) -> None:
    layout = generate((7, 13), rng=0)
    camera = view.camera(layout)
    for cell in [None, *((int(row), int(column)) for row, column in np.argwhere(~layout.grid))]:
        found = chunks(camera.png(cell, [] if cell is None else [cell]))
        assert next(iter(found)) == b"IHDR"
        assert list(found)[-2:] == [b"IDAT", b"IEND"]
        # decompress() checks the Adler-32 that was combined from those of the strips.
        scanlines, (height, width) = zlib.decompress(found[b"IDAT"]), view.picture_size(7, 13)
        bits = found[b"IHDR"][8] * (3 if view.mode == "rgb" else 1)
        assert len(scanlines) == height * (1 + -(-width * bits // 8))


def test_the_checksums_of_an_encoded_array_hold() -> None:
    frame = render(generate(9, rng=0))
    assert len(zlib.decompress(chunks(encode_png(frame))[b"IDAT"])) == 225 * (1 + 3 * 225)


def test_pictures_of_one_maze_share_rows_but_no_memory() -> None:
    layout = generate(9, rng=0)
    camera = TopDown().camera(layout)
    frames = [camera.frame(layout.start), camera.frame(layout.start), camera.frame()]
    assert all(frame.flags.writeable and frame.flags.c_contiguous for frame in frames)
    assert not any(np.shares_memory(a, b) for a in frames for b in frames if a is not b)
    frames[0][:] = 0
    assert np.array_equal(camera.frame(layout.start), frames[1])


@pytest.mark.parametrize("view", [TopDown(), TopDown(coordinates=True), TopDown(trail=True, fog=1)])
def test_equal_views_have_one_hash(view: TopDown) -> None:
    twin = replace(view)
    assert twin == view
    assert hash(twin) == hash(view)
