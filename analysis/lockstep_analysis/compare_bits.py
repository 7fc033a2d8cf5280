"""How much two arrays of raw bits differ, gathered slab by slab."""

import numpy as np


class Difference:
    """Of two datasets of one type and shape."""

    def __init__(self, element_type):
        self._type = element_type
        self._seen = 0
        self._largest = 0.0 if element_type.floating else 0  # over differing pairs whose distance is a number
        self._unmeasured = 0  # differing pairs with a NaN in them
        self._first = None  # (flat index, bits of A, bits of B)
        self.count = 0

    def add(self, first, bits_a, bits_b):
        """Takes the next slab, which begins at flat index `first`."""
        self._seen += bits_a.size
        where = np.flatnonzero(bits_a != bits_b)
        if where.size == 0:
            return
        if self._first is None:
            self._first = (first + int(where[0]), bits_a[where[:1]], bits_b[where[:1]])
        self.count += where.size
        self._measure(bits_a[where], bits_b[where])

    def describe(self, shape):
        flat, a, b = self._first
        index = [int(i) for i in np.unravel_index(flat, shape)] if shape else []
        if self._unmeasured == self.count:
            distance = "no distance (NaN)"
        else:
            distance = f"max abs difference {self._largest!r}"
            distance += f", {self._unmeasured} with NaN" if self._unmeasured else ""
        return (f"{self.count} of {self._seen} values differ, {distance}, "
                f"first at {index}: {self._shown(a)} | {self._shown(b)}")

    def _measure(self, bits_a, bits_b):
        a, b = self._type.values(bits_a), self._type.values(bits_b)
        if self._type.floating:
            with np.errstate(all="ignore"):
                distance = np.abs(a.astype(np.float64) - b.astype(np.float64))
            measured = distance[~np.isnan(distance)]
            self._unmeasured += distance.size - measured.size
            self._largest = max(self._largest, float(measured.max(initial=0.0)))
        else:
            # Larger minus smaller, modulo the width: exact for every integer type.
            larger, smaller = np.where(a > b, bits_a, bits_b), np.where(a > b, bits_b, bits_a)
            self._largest = max(self._largest, int((larger - smaller).max()))

    def _shown(self, bits):
        value = self._type.values(bits)[0].item()
        return f"{value!r} (0x{int(bits[0]):0{2 * self._type.size}x})" if self._type.floating else repr(value)
