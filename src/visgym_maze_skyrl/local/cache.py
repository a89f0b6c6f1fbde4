"""Where do the keys and values of many growing histories live? In one tensor, one row each."""

from __future__ import annotations

from collections.abc import Sequence

import torch


class KeyValueRows:
    """Preallocated keys and values, in the form that a Hugging Face decoder layer writes and reads.

    A pass works on the first ``n`` rows, so it reads them as a view; :meth:`swap` brings the right
    histories there. Rows and lengths grow by doubling. What lies behind a row's length is unused
    and may be overwritten.

    Args:
        layers: Number of decoder layers.
        heads: Key/value heads of each.
        dim: Size of a head.
        dtype: Type of keys and values.
        device: Where they live.
    """

    def __init__(self, layers: int, heads: int, dim: int, dtype: torch.dtype, device: torch.device) -> None:
        self._data = torch.zeros((layers, 2, 16, heads, 256, dim), dtype=dtype, device=device)
        self._rows = self._columns = torch.empty(0, dtype=torch.int64)
        self._n = self._length = 0

    @property
    def row_count(self) -> int:
        """Number of rows."""
        return self._data.shape[2]

    def reserve(self, rows: int, length: int) -> None:
        """Make room for ``rows`` rows of ``length`` tokens, keeping what is there."""
        layers, two, old_rows, heads, old_length, dim = self._data.shape
        new_rows, new_length = old_rows, old_length
        while new_rows < rows:
            new_rows *= 2
        while new_length < length:
            new_length *= 2
        if (new_rows, new_length) != (old_rows, old_length):
            grown = self._data.new_zeros((layers, two, new_rows, heads, new_length, dim))
            grown[:, :, :old_rows, :, :old_length] = self._data
            self._data = grown

    def swap(self, first: Sequence[int], second: Sequence[int], length: int) -> None:
        """Exchange the rows ``first`` with the rows ``second``, up to ``length`` tokens."""
        to, source = [*first, *second], [*second, *first]
        self._data[:, :, to, :, :length] = self._data[:, :, source, :, :length]

    def begin(self, past: torch.Tensor, width: int) -> torch.Tensor:
        """Prepare a pass that appends ``width`` tokens to each of the first rows.

        Args:
            past: Length of each of the first ``n`` rows, int64 of shape ``(n,)``.
            width: Tokens per row in this pass.

        Returns:
            Additive attention mask of shape ``(n, 1, width, longest length)``: a token sees its
            row's tokens up to itself.
        """
        self._n, self._length = len(past), int(past.max()) + width
        self.reserve(self._n, self._length)
        self._rows = torch.arange(self._n, device=past.device)[:, None]
        self._columns = past[:, None] + torch.arange(width, device=past.device)
        seen = torch.arange(self._length, device=past.device) <= self._columns[:, None, :, None]
        mask = torch.zeros(seen.shape, dtype=self._data.dtype, device=past.device)
        return mask.masked_fill_(~seen, -torch.inf)

    def update(
        self, key: torch.Tensor, value: torch.Tensor, layer_idx: int, *_: object, **__: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write one layer's new keys and values ``(n, heads, width, dim)``; return all of them."""
        keys, values = self._data[layer_idx, 0], self._data[layer_idx, 1]
        keys[self._rows, :, self._columns] = key.transpose(1, 2)
        values[self._rows, :, self._columns] = value.transpose(1, 2)
        return keys[: self._n, :, : self._length], values[: self._n, :, : self._length]

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Longest length in the current pass, its own tokens included."""
        return self._length
