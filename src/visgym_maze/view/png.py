"""How do pixels become the bytes of a PNG file, and a data URI?

A maze picture repeats itself: each row of cells is one of few patterns. So a row of cells (a *strip* of
scanlines) is compressed once, with a full flush that ends its deflate block on a byte boundary, and a
picture is the concatenation of strips (RFC 1951, 3.2.4; zlib's Z_FULL_FLUSH) with the checksum
combined from theirs (Adler-32 is linear in the data, RFC 1950).
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from visgym_maze.view.style import RGB

RGB_BITS = 24
"""Bits per pixel of a picture without a palette."""

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_ADLER_BASE = 65521
_ZLIB_HEADER = b"\x78\x9c"
_LAST_BLOCK = b"\x03\x00"


class Strip(NamedTuple):
    """Some scanlines, compressed.

    Attributes:
        data: Their deflated bytes.
        low: Sum of the raw bytes.
        high: Sum of the raw bytes, each times the number of raw bytes from it to the end; both
            modulo 65521.
        length: Number of raw bytes.
    """

    data: bytes
    low: int
    high: int
    length: int


def chunk(kind: bytes, data: bytes) -> bytes:
    """One chunk of a PNG file: length, kind, data, checksum."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(data, zlib.crc32(kind)))


_TAIL = chunk(b"IEND", b"")


def scanlines(pixels: NDArray[np.uint8], bits: int, palette: Sequence[RGB]) -> bytes:
    """Filtered scanlines, independent of any that stand above them.

    Args:
        pixels: Palette indices, uint8 of shape ``(rows, width)``.
        bits: Per pixel: 2, 4 or 8 with a palette, or 24 for RGB.
        palette: The colours.
    """
    if bits == RGB_BITS:
        lines = np.array(palette, dtype=np.uint8)[pixels].reshape(len(pixels), -1)
    else:
        per_byte = 8 // bits
        padded = np.pad(pixels, ((0, 0), (0, -pixels.shape[1] % per_byte)))
        lines = np.zeros((len(pixels), padded.shape[1] // per_byte), dtype=np.uint8)
        for place in range(per_byte):
            lines |= padded[:, place::per_byte] << (8 - bits * (place + 1))
    out = np.zeros((len(lines), lines.shape[1] + 1), dtype=np.uint8)
    out[0, 1:] = lines[0]  # filter 0 (none): a strip must not depend on the one above
    out[1:, 0] = 2  # filter 2 (up): within a row of cells most lines repeat
    out[1:, 1:] = lines[1:] - lines[:-1]
    return out.tobytes()


def make_strip(raw: bytes) -> Strip:
    """Compress some scanlines."""
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    data = packer.compress(raw) + packer.flush(zlib.Z_FULL_FLUSH)
    adler, length = zlib.adler32(raw), len(raw)
    return Strip(data, (adler & 0xFFFF) - 1, ((adler >> 16) - length) % _ADLER_BASE, length)


def header(height: int, width: int, bits: int, palette: Sequence[RGB]) -> bytes:
    """Everything in front of the picture's data."""
    depth, kind = (8, 2) if bits == RGB_BITS else (bits, 3)
    head = _SIGNATURE + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, 0))
    if bits != RGB_BITS:
        head += chunk(b"PLTE", bytes(value for colour in palette for value in colour))
    return head


def join_strips(head: bytes, strips: Iterable[Strip]) -> bytes:
    """A PNG file out of its :func:`header` and its strips, top to bottom."""
    low, high = 1, 0
    parts = [_ZLIB_HEADER]
    for data, strip_low, strip_high, length in strips:
        high += strip_high + length * low
        low += strip_low
        parts.append(data)
    parts.append(_LAST_BLOCK)
    parts.append(struct.pack(">HH", high % _ADLER_BASE, low % _ADLER_BASE))
    return head + chunk(b"IDAT", b"".join(parts)) + _TAIL


def to_data_uri(png: bytes) -> str:
    """Wrap the bytes of any PNG file as a data URI."""
    return "data:image/png;base64," + base64.b64encode(png).decode("ascii")


def encode_png(frame: NDArray[np.uint8]) -> bytes:
    """Encode any RGB array, uint8 of shape ``(height, width, 3)``, as a PNG file.

    Raises:
        ValueError: If the array has another type or shape.
    """
    if frame.dtype != np.uint8 or frame.ndim != 3 or frame.shape[2] != 3:
        raise ValueError(f"need a uint8 array (height, width, 3), got {frame.dtype} {frame.shape}")
    height, width, _ = frame.shape
    lines = frame.reshape(height, -1)
    out = np.zeros((height, width * 3 + 1), dtype=np.uint8)
    out[0, 1:] = lines[0]
    out[1:, 0] = 2
    out[1:, 1:] = lines[1:] - lines[:-1]
    data = chunk(b"IDAT", zlib.compress(out.tobytes(), 6))
    return header(height, width, RGB_BITS, ()) + data + _TAIL
