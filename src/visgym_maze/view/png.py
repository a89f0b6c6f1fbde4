"""How does a picture become the bytes of a PNG, and a data URI?

A maze picture repeats itself: each row of cells is one of few patterns. So every row of cells is
compressed once, with a full flush that ends its deflate block on a byte boundary, and a picture is the
concatenation of cached rows (RFC 1951, 3.2.4; zlib's Z_FULL_FLUSH) with the checksum combined
from theirs (Adler-32 is linear in the data, RFC 1950).
"""

from __future__ import annotations

import base64
import struct
import zlib
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from visgym_maze.view.frames import AGENT, WALL, agent_mask, cell_indices
from visgym_maze.view.style import Style, style_named
from visgym_maze.world.layout import Cell, Layout

MODES = ("palette", "rgb")
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_ADLER_BASE = 65521
_ZLIB_HEADER = b"\x78\x9c"
_LAST_BLOCK = b"\x03\x00"

Strip = tuple[bytes, int, int]
"""Deflated scanlines, the Adler-32 of the raw ones, and their length in bytes."""


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _adler_join(first: int, second: int, second_length: int) -> int:
    """Adler-32 of the concatenation of two byte strings, from theirs."""
    remainder = second_length % _ADLER_BASE
    low, high = first & 0xFFFF, first >> 16
    sum_low = (low + (second & 0xFFFF) - 1) % _ADLER_BASE
    sum_high = (high + (second >> 16) + remainder * low - remainder) % _ADLER_BASE
    return sum_high << 16 | sum_low


def _deflate(raw: bytes) -> Strip:
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    data = packer.compress(raw) + packer.flush(zlib.Z_FULL_FLUSH)
    return data, zlib.adler32(raw), len(raw)


def _scanlines(pixels: NDArray[np.uint8], style: Style, mode: str) -> bytes:
    """Filtered scanlines of some rows of palette indices, uint8 of shape ``(rows, width)``."""
    if mode == "rgb":
        lines = np.array(style.palette, dtype=np.uint8)[pixels].reshape(len(pixels), -1)
    else:
        padded = np.pad(pixels, ((0, 0), (0, -pixels.shape[1] % 4)))
        quads = padded.reshape(len(pixels), -1, 4)
        lines = quads[..., 0] << 6 | quads[..., 1] << 4 | quads[..., 2] << 2 | quads[..., 3]
    out = np.zeros((len(lines), lines.shape[1] + 1), dtype=np.uint8)
    out[0, 1:] = lines[0]  # filter 0 (none): a strip must not depend on the one above
    out[1:, 0] = 2  # filter 2 (up): within a row of cells most lines repeat
    out[1:, 1:] = lines[1:] - lines[:-1]
    return out.tobytes()


@lru_cache(maxsize=8192)
def _cell_row_strip(cells: bytes, agent_column: int, width: int, style: Style, mode: str) -> Strip:
    """One row of cells (palette indices), with the agent in ``agent_column`` unless that is -1."""
    size = style.cell
    pixels = np.full((size, width), WALL, dtype=np.uint8)
    row = np.frombuffer(cells, dtype=np.uint8).repeat(size)
    pixels[:, : len(row)] = row
    if agent_column >= 0:
        tile = pixels[:, agent_column * size : (agent_column + 1) * size]
        tile[agent_mask(size)] = AGENT
    return _deflate(_scanlines(pixels, style, mode))


@lru_cache(maxsize=64)
def _padding_strip(rows: int, width: int, style: Style, mode: str) -> Strip:
    return _deflate(_scanlines(np.full((rows, width), WALL, dtype=np.uint8), style, mode))


@lru_cache(maxsize=256)
def _head(height: int, width: int, style: Style, mode: str) -> bytes:
    depth, colour = (8, 2) if mode == "rgb" else (2, 3)
    head = _SIGNATURE + _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0))
    if mode == "palette":
        head += _chunk(b"PLTE", bytes(value for colour in style.palette for value in colour))
    return head


_TAIL = _chunk(b"IEND", b"")


@lru_cache(maxsize=1024)
def _cell_rows(layout: Layout) -> tuple[bytes, ...]:
    return tuple(row.tobytes() for row in cell_indices(layout))


def png_bytes(
    layout: Layout,
    agent: Cell | None = None,
    style: str | Style = "visgym",
    mode: str = "palette",
) -> bytes:
    """Encode the picture that :func:`visgym_maze.view.frames.render` draws.

    Args:
        layout: The maze.
        agent: Where the agent stands; None leaves it out.
        style: Name of a style, or a :class:`Style`.
        mode: ``"palette"`` (four colours, 2 bits a pixel: small and fast) or ``"rgb"`` (8 bits a
            channel, for readers that take pixel values without converting). Both decode to the
            same RGB picture.

    Returns:
        A complete PNG file.

    Raises:
        ValueError: If the mode is unknown.
    """
    if mode not in MODES:
        raise ValueError(f"unknown PNG mode {mode!r}; known: {', '.join(MODES)}")
    style = style_named(style)
    height, width = style.picture_size(*layout.shape)
    agent_row, agent_column = (-1, -1) if agent is None else agent
    strips = [
        _cell_row_strip(cells, agent_column if row == agent_row else -1, width, style, mode)
        for row, cells in enumerate(_cell_rows(layout))
    ]
    rest = height - layout.height * style.cell
    if rest:
        strips.append(_padding_strip(rest, width, style, mode))
    checksum = 1
    for _, adler, length in strips:
        checksum = _adler_join(checksum, adler, length)
    body = b"".join([_ZLIB_HEADER, *(data for data, _, _ in strips), _LAST_BLOCK])
    return _head(height, width, style, mode) + _chunk(b"IDAT", body + struct.pack(">I", checksum)) + _TAIL


@lru_cache(maxsize=8192)
def _data_uri(layout: Layout, agent: Cell | None, style: Style, mode: str) -> str:
    return to_data_uri(png_bytes(layout, agent, style, mode))


def data_uri(
    layout: Layout,
    agent: Cell | None = None,
    style: str | Style = "visgym",
    mode: str = "palette",
) -> str:
    """The picture as ``data:image/png;base64,...``; arguments as for :func:`png_bytes`."""
    return _data_uri(layout, agent, style_named(style), mode)


def to_data_uri(png: bytes) -> str:
    """Wrap the bytes of any PNG file as a data URI."""
    return "data:image/png;base64," + base64.b64encode(png).decode("ascii")


def encode_png(frame: NDArray[np.uint8]) -> bytes:
    """Encode any RGB array, uint8 of shape ``(height, width, 3)``, as a PNG file."""
    if frame.dtype != np.uint8 or frame.ndim != 3 or frame.shape[2] != 3:
        raise ValueError(f"need a uint8 array (height, width, 3), got {frame.dtype} {frame.shape}")
    height, width, _ = frame.shape
    lines = np.zeros((height, width * 3 + 1), dtype=np.uint8)
    lines[:, 1:] = frame.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = zlib.compress(lines.tobytes(), 6)
    return _SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", body) + _TAIL
