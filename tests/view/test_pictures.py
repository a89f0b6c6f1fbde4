"""Every way to a picture leads to the same pixels."""

import base64
import copy
import io
import pickle

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from visgym_maze import (
    STYLES,
    VIEWS,
    Action,
    Cell,
    FirstPerson,
    Layout,
    Style,
    TopDown,
    View,
    data_uri,
    generate,
    png_bytes,
    render,
    solve,
    transition,
)
from visgym_maze.view.named import view_named
from visgym_maze.view.png import encode_png
from visgym_maze.view.view import Blank

SIZES = [(5, 5), (7, 13), (13, 7), (9, 9)]
TOP_DOWN = {
    "plain": TopDown(),
    "coordinates": TopDown(coordinates=True),
    "trail": TopDown(trail=True),
    "fog": TopDown(fog=2),
    "everything": TopDown(STYLES["dark"], coordinates=True, trail=True, fog=3),
    "padded": TopDown(Style(cell=13, pad_to=32), coordinates=True, trail=True),
    "rgb": TopDown(mode="rgb", trail=True, fog=1),
}


def decode(png: bytes) -> NDArray[np.uint8]:
    with Image.open(io.BytesIO(png)) as image:
        image.load()
        return np.asarray(image.convert("RGB"))


def walk(layout: Layout) -> list[Cell]:
    cells = [layout.start]
    for action in solve(layout).path():
        cells.append(transition(layout, cells[-1], action)[0])
    return cells


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("mode", ["palette", "rgb"])
def test_png_and_frame_agree(size: tuple[int, int], style: str, mode: str) -> None:
    layout = generate(size, rng=1)
    for agent in (None, *walk(layout)):
        frame = render(layout, agent, style)
        assert np.array_equal(decode(png_bytes(layout, agent, style, mode)), frame)
        uri = data_uri(layout, agent, style, mode)
        assert base64.b64decode(uri.removeprefix("data:image/png;base64,")) == png_bytes(
            layout, agent, style, mode
        )


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", TOP_DOWN)
def test_png_and_frame_of_a_view_agree(size: tuple[int, int], name: str) -> None:
    layout = generate(size, rng=2)
    camera, path = TOP_DOWN[name].camera(layout), walk(layout)
    for turn, cell in enumerate(path):
        frame = camera.frame(cell, path[: turn + 1])
        assert frame.flags.c_contiguous
        assert frame.flags.writeable
        assert np.array_equal(decode(camera.png(cell, path[: turn + 1])), frame)


def test_plain_view_is_the_plain_picture() -> None:
    layout = generate(9, rng=0)
    assert np.array_equal(TopDown().camera(layout).frame(layout.start), render(layout, layout.start))


def test_palette_pictures_have_no_more_colours_than_their_bits_allow() -> None:
    layout = generate(9, rng=0)
    for view, bits in ((TopDown(), 2), (TopDown(trail=True), 4)):
        png = view.camera(layout).png(layout.start)
        assert png[24] == bits
        length = int.from_bytes(png[33:37], "big")
        assert (png[37:41], length % 3, length // 3 <= 2**bits) == (b"PLTE", 0, True)


def tile(frame: NDArray[np.uint8], cell: Cell, size: int = 25) -> tuple[int, ...]:
    """Colour of a cell's top-left pixel."""
    return tuple(int(v) for v in frame[cell[0] * size, cell[1] * size])


def test_the_trail_colours_floor_that_was_stood_on_and_nothing_else() -> None:
    layout = generate(9, rng=3)
    path = walk(layout)
    frame = TopDown(trail=True).camera(layout).frame(path[-1], path)
    style, plain = Style(), render(layout, path[-1])
    for row in range(9):
        for column in range(9):
            cell = (row, column)
            trodden = cell in path and cell != layout.goal
            assert tile(frame, cell) == (style.trail if trodden else tile(plain, cell))


def test_fog_hides_what_is_further_than_its_radius() -> None:
    layout = generate((9, 13), rng=3)
    plain = render(layout)
    for cell in walk(layout):
        frame = TopDown(fog=2).camera(layout).frame(cell)
        for row in range(9):
            for column in range(13):
                near = max(abs(row - cell[0]), abs(column - cell[1])) <= 2
                expected = tile(plain, (row, column)) if near else Style().fog
                assert tile(frame, (row, column)) == expected


def test_fog_hides_the_goal_from_the_text_too() -> None:
    layout = generate(9, rng=3)
    before_goal = walk(layout)[-2]
    characters = TopDown(fog=1).camera(layout)
    words = TopDown(fog=1, text="position").camera(layout)
    assert "G" not in characters.text(layout.start)
    assert "G" in characters.text(before_goal)
    named = f"The goal is in row {layout.goal[0]}, column {layout.goal[1]}."
    assert named not in words.text(layout.start)
    assert named in words.text(before_goal)


def test_numbers_stand_in_the_first_row_and_column_only() -> None:
    layout = generate((7, 13), rng=0)
    frame = TopDown(coordinates=True).camera(layout).frame()
    changed = (frame != render(layout)).any(axis=-1)
    cells = changed.reshape(7, 25, 13, 25).any(axis=(1, 3))
    assert cells[0].all()
    assert cells[:, 0].all()
    assert not cells[1:, 1:].any()
    glyphs = {changed[:25, c * 25 : (c + 1) * 25].tobytes() for c in range(13)}
    assert len(glyphs) == 13


def test_cells_too_small_for_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="too small for the number 0; use 8"):
        TopDown(Style(cell=7), coordinates=True)
    with pytest.raises(ValueError, match="too small for the number 100; use 12"):
        TopDown(Style(cell=9), coordinates=True).camera(generate(101, "dfs", 0))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"mode": "gif"}, "unknown PNG mode 'gif'"),
        ({"fog": 0}, "at least 1 cell"),
        ({"text": "braille"}, "unknown text 'braille'"),
    ],
)
def test_bad_views_are_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TopDown(**fields)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="unknown view 'x-ray'; known: top-down"):
        view_named("x-ray")


@pytest.mark.parametrize("view", [*VIEWS.values(), Blank(TopDown())], ids=[*VIEWS, "blank"])
def test_views_are_values_and_cameras_pickle_small(view: View) -> None:
    layout = generate(9, rng=0)
    camera = view.camera(layout)
    where = layout.start, [layout.start], Action.DOWN
    uri = camera.data_uri(*where)
    data = pickle.dumps((view, camera))
    assert len(data) < 1500
    for other_view, other_camera in (pickle.loads(data), copy.deepcopy((view, camera))):
        assert other_view == view
        assert hash(other_view) == hash(view)
        assert other_camera.data_uri(*where) == uri
    frame = camera.frame(*where)
    assert frame.shape == (*view.picture_size(9, 9), 3)
    assert np.array_equal(decode(camera.png(*where)), frame)
    assert np.array_equal(decode(base64.b64decode(uri.partition(",")[2])), frame)


def test_uris_that_are_kept_are_bounded() -> None:
    layout = generate(41, "dfs", 0)
    camera = TopDown(Style(cell=4)).camera(layout)
    cells = [(r, c) for r in range(41) for c in range(41) if not layout.is_wall((r, c))]
    uris = [camera.data_uri(cell) for cell in cells]
    assert len(set(uris)) == len(cells) > 256
    assert len(camera._uris) <= 256
    assert [camera.data_uri(cell) for cell in cells[:5]] == uris[:5]


def test_encoding_any_frame() -> None:
    frame = np.random.default_rng(0).integers(0, 256, (31, 17, 3), dtype=np.uint8)
    assert np.array_equal(decode(encode_png(frame)), frame)
    assert np.array_equal(decode(encode_png(frame[:, ::2])), frame[:, ::2])
    for bad in (frame[..., 0], frame.astype(np.float32), frame[..., :2]):
        with pytest.raises(ValueError, match="need a uint8 array"):
            encode_png(bad)


def test_texts_say_what_the_picture_shows() -> None:
    layout = Layout.from_ascii("#######\n#S...G#\n#.#####\n#######")
    assert TopDown().camera(layout).text((1, 3)) == "#######\n#..A.G#\n#.#####\n#######"
    assert (
        TopDown(trail=True)
        .camera(layout)
        .text((1, 3), [(1, 1), (1, 2), (1, 3)])
        .startswith("#######\n#++A.G#")
    )
    assert TopDown(fog=1).camera(layout).text((1, 3)) == "??###??\n??.A.??\n??###??\n???????"
    assert TopDown(text="position").camera(layout).text((1, 1)) == (
        "You are in row 1, column 1. The goal is in row 1, column 5. Free ways: right, down."
    )
    assert "out of sight" in TopDown(text="position", fog=2).camera(layout).text((1, 1))
    inside = FirstPerson().camera(layout)
    assert inside.text((1, 2), [], Action.RIGHT) == (
        "You face right. Ahead: 3 free cells, then a wall. To your left: a wall. To your right: a wall. "
        "The goal is 3 ahead."
    )
    assert inside.text((1, 1), [], Action.RIGHT).endswith(
        "To your left: a wall. To your right: free. The goal is 4 ahead."
    )
    assert inside.text((1, 5), [], Action.UP) == (
        "You face up. Ahead: a wall. To your left: free. To your right: a wall. The goal is right here."
    )
