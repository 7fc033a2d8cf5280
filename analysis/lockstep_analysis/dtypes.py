"""Element types of a file: their names, their raw bits and what the bits mean."""

from dataclasses import dataclass

import h5py
import numpy as np

from lockstep_analysis.errors import DamagedError

# (size, (sign, exponent position, exponent bits, mantissa position, mantissa bits), exponent bias)
_FLOATS = {
    (2, (15, 7, 8, 0, 7), 127): "bfloat16",
    (2, (15, 10, 5, 0, 10), 15): "float16",
    (4, (31, 23, 8, 0, 23), 127): "float32",
    (8, (63, 52, 11, 0, 52), 1023): "float64",
}


@dataclass(frozen=True)
class ElementType:
    name: str
    size: int
    memory: h5py.h5t.TypeID  # little-endian, else as in the file: reading into it converts nothing

    @property
    def bits(self):
        """The unsigned integer type that holds an element's raw bits."""
        return np.dtype(f"<u{self.size}")

    @property
    def floating(self):
        return self.name in _FLOATS.values()

    def values(self, bits):
        """The numbers that raw bits stand for; bfloat16 as float32, which holds every one exactly."""
        if self.name == "bfloat16":
            return (bits.astype("<u4") << 16).view("<f4")
        return bits.view("?" if self.name == "bool" else np.dtype(self.name).newbyteorder("<"))


def element_type(dataset):
    """The type of an h5py dataset; DamagedError when it is none that a checkpoint may hold."""
    stored = dataset.id.get_type()
    name = _name(stored)
    if name is None:
        raise DamagedError(f"an element type that no checkpoint has (HDF5 class {stored.get_class()})")
    memory = stored.copy()
    if name != "bool":
        memory.set_order(h5py.h5t.ORDER_LE)
    return ElementType(name, stored.get_size(), memory)


def _name(stored):
    kind, size = stored.get_class(), stored.get_size()
    if kind == h5py.h5t.FLOAT:
        return _FLOATS.get((size, stored.get_fields(), stored.get_ebias()))
    if kind == h5py.h5t.INTEGER and stored.get_precision() == 8 * size and size in (1, 2, 4, 8):
        return ("int" if stored.get_sign() == h5py.h5t.SGN_2 else "uint") + str(8 * size)
    if kind == h5py.h5t.ENUM and size == 1 and _members(stored) == {b"FALSE": 0, b"TRUE": 1}:
        return "bool"
    return None


def _members(stored):
    return {stored.get_member_name(i): stored.get_member_value(i) for i in range(stored.get_nmembers())}
