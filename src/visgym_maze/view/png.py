"""How do pixels become the bytes of a PNG file, and a data URI?

A maze picture repeats itself: each row of cells is one of few patterns. So a row of cells (a *strip* of
scanlines) is compressed once, with a full flush that ends its deflate block on a byte boundary, and a
picture is the concatenation of strips (RFC 1951, 3.2.4; zlib's Z_FULL_FLUSH) with the checksum
combined from theirs (Adler-32 is linear in the data, RFC 1950).
"""

from __future__ import annotations

import binascii
import struct
import zlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from visgym_maze.view.style import RGB

RGB_BITS = 24
"""Bits per pixel of a picture without a palette."""

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_ADLER_BASE = 65521
_IDAT = b"IDAT\x78\x9c"  # the kind of chunk, and zlib's header
_NUMBER = struct.Struct(">I")
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
    return _NUMBER.pack(len(data)) + kind + data + _NUMBER.pack(zlib.crc32(kind + data))


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


class Sheet:
    """The strips of a picture from top to bottom; a PNG file of it costs no more than copying them."""

    def __init__(self, head: bytes, strips: Sequence[Strip]) -> None:
        self._head = head
        self._strips = strips
        self._data = [strip.data for strip in strips]
        self._below: list[int] = []  # raw bytes below each strip
        all_low, all_high, below = 1, 0, 0
        for _, low, high, length in reversed(strips):
            self._below.append(below)
            all_low += low
            all_high += high + low * below
            below += length
        self._below.reverse()
        self._low, self._high = all_low, all_high + below

    def png(self, row: int = 0, strip: Strip | None = None) -> bytes:
        """A PNG file; with ``strip`` in place of the one at ``row``, which must be as long."""
        data, low, high = self._data, self._low, self._high
        if strip is not None:
            data = data.copy()
            data[row] = strip.data
            change = strip.low - self._strips[row].low
            low += change
            high += strip.high - self._strips[row].high + change * self._below[row]
        checksum = struct.pack(">HH", high % _ADLER_BASE, low % _ADLER_BASE)
        idat = b"".join((_IDAT, *data, _LAST_BLOCK, checksum))
        length, crc = len(idat) - len(b"IDAT"), zlib.crc32(idat)
        return b"".join((self._head, _NUMBER.pack(length), idat, _NUMBER.pack(crc), _TAIL))


def to_data_uri(png: bytes) -> str:
    """Wrap the bytes of any PNG file as a data URI."""
    return "data:image/png;base64," + binascii.b2a_base64(png, newline=False).decode("ascii")


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
