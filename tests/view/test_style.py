import json
import pickle
from dataclasses import asdict, replace

import numpy as np
import pytest

from visgym_maze import STYLES, Style
from visgym_maze.view.colours import colour_names


def test_any_integers_will_do() -> None:
    style = Style(cell=np.int64(16), wall=[np.uint8(1), 2, 3])  # type: ignore[arg-type]
    assert style == Style(cell=16, wall=(1, 2, 3))
    assert hash(style) == hash(Style(cell=16, wall=(1, 2, 3)))
    assert Style(**json.loads(json.dumps(asdict(style)))) == style


def test_a_style_is_a_value() -> None:
    style = STYLES["dark"]
    assert pickle.loads(pickle.dumps(style)) == style
    assert hash(replace(style, cell=16)) != hash(style)
    assert replace(style, fog=(1, 1, 1)) != style


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"cell": 3}, "at least 4 pixels"),
        ({"pad_to": 0}, "pad_to must be at least 1"),
        ({"goal": (0, 0, 256)}, "goal must be three integers"),
        ({"goal": (0, 0)}, "goal must be three integers"),
        ({"wall": (255, 255, 255)}, "four different colours"),
    ],
)
def test_bad_styles_are_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Style(**fields)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Style(cell=9.5)  # type: ignore[arg-type]


def test_padding_reaches_the_next_multiple() -> None:
    assert STYLES["patch32"].picture_size(9, 11) == (288, 352)
    assert STYLES["patch16"].picture_size(9, 11) == (160, 192)
    assert STYLES["visgym"].picture_size(7, 13) == (175, 325)


def test_no_two_colours_of_a_picture_get_the_same_name() -> None:
    assert colour_names([(169, 169, 169), (255, 255, 255), (255, 0, 0), (0, 0, 255)]) == [
        "grey",
        "white",
        "red",
        "blue",
    ]
    assert len(set(colour_names([(50, 50, 50)] * 5))) == 5
