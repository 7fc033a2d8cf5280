"""One dataset of a checkpoint: its type and shape at once, its raw bits in slabs of bounded size."""

import math

import h5py
import numpy as np
import xxhash

from lockstep_analysis.dtypes import element_type
from lockstep_analysis.errors import DamagedError
from lockstep_analysis.text import one_line

HASH_ATTRIBUTE = "xxh3_128"
SLAB = 1 << 20  # elements read at a time

# What h5py raises, depending on where in a file it meets something it cannot read.
READ_ERRORS = (OSError, RuntimeError, KeyError, ValueError, TypeError, OverflowError)


class Dataset:
    """Errors are DamagedError and name the dataset."""

    def __init__(self, path, dataset):
        self.path = path  # "/model/actor.0.weight", parts escaped as in the file
        self.name = unescaped(path.removeprefix("/"))
        self._dataset = dataset
        with reading(self.name):
            self.type = element_type(dataset)
            if dataset.shape is None:
                raise DamagedError("has no shape")
            self.shape = tuple(int(n) for n in dataset.shape)
        self.size = math.prod(self.shape)

    def slabs(self, limit=SLAB):
        """Yields (first flat index, flat array of raw bits) over the whole dataset in row-major order."""
        first = 0
        for start, count in slab_ranges(self.shape, limit):
            yield first, self._read(start, count)
            first += math.prod(count)

    def bits(self):
        """All raw bits, in the dataset's shape."""
        parts = [bits for _, bits in self.slabs()]
        flat = np.concatenate(parts) if parts else np.empty(0, self.type.bits)
        return flat.reshape(self.shape)

    def values(self):
        """All values, in the dataset's shape."""
        return self.type.values(self.bits().reshape(-1)).reshape(self.shape)

    def stored_hash(self):
        with reading(self.name):
            if HASH_ATTRIBUTE not in self._dataset.attrs:
                raise DamagedError(f"has no attribute {HASH_ATTRIBUTE}")
            text = self._dataset.attrs[HASH_ATTRIBUTE]
            return text.decode("ascii", "replace") if isinstance(text, bytes) else str(text)

    def computed_hash(self):
        hasher = xxhash.xxh3_128()
        for _, bits in self.slabs():
            hasher.update(bits)
        return hasher.hexdigest()

    def check_hash(self):
        stored, computed = self.stored_hash(), self.computed_hash()
        if stored != computed:
            raise DamagedError(f"{one_line(self.name)}{self._place()}: its bits have the hash {computed}, "
                               f"its attribute says {one_line(stored)}")

    def _place(self):
        """Where in the file the bits lie, for contiguous ones."""
        offset = self._dataset.id.get_offset() if self.size and self._dataset.chunks is None else None
        return "" if offset is None else f" (bytes {offset}-{offset + self.size * self.type.size - 1} of the file)"

    def _read(self, start, count):
        bits = np.empty(math.prod(count), self.type.bits)
        if bits.size == 0:
            return bits
        with reading(self.name):
            if not self.shape:
                self._dataset.id.read(h5py.h5s.ALL, h5py.h5s.ALL, bits, self.type.memory)
            else:
                place = self._dataset.id.get_space()
                place.select_hyperslab(start, count)
                self._dataset.id.read(h5py.h5s.create_simple(count), place, bits, self.type.memory)
        return bits


class reading:
    """Turns whatever h5py raises inside the block into a DamagedError that names what was read."""

    def __init__(self, name):
        self._name = name

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if isinstance(error, (DamagedError, *READ_ERRORS)):
            raise DamagedError(f"{one_line(self._name)}: {one_line(error)}") from None


def slab_ranges(shape, limit):
    """Yields (start, count) of blocks of at most `limit` elements that cover `shape` in row-major order."""
    row = math.prod(shape[1:])
    if math.prod(shape) <= limit:
        yield (0,) * len(shape), tuple(shape)
    elif row <= limit:
        step = limit // row
        for first in range(0, shape[0], step):
            rest = (0,) * (len(shape) - 1)
            yield (first, *rest), (min(step, shape[0] - first), *shape[1:])
    else:
        for first in range(shape[0]):
            for start, count in slab_ranges(shape[1:], limit):
                yield (first, *start), (1, *count)


def unescaped(path):
    """A path's parts as they were named: "loss%2Fcritic" is "loss/critic"."""
    return path.replace("%2F", "/").replace("%25", "%")
