"""The 512 bytes before the HDF5 part of a checkpoint: magic, version, length and the hash of all that follows."""

import os
import struct
from dataclasses import dataclass

import xxhash

SIZE = 512
MAGIC = b"LOCKSTEP"
VERSION = 1
_BLOCK = 8 << 20  # bytes hashed at a time


@dataclass(frozen=True)
class UserBlock:
    raw: bytes
    file_size: int

    @classmethod
    def read(cls, path):
        with open(path, "rb") as file:
            return cls(file.read(SIZE), os.fstat(file.fileno()).st_size)

    @property
    def length(self):
        """The length of the whole file, as written."""
        return struct.unpack_from("<Q", self.raw, 16)[0]

    @property
    def version(self):
        return struct.unpack_from("<I", self.raw, 8)[0]

    @property
    def content_hash(self):
        return self.raw[24:40]

    def is_newer(self):
        """Whether it is an intact block of a format that this package does not know."""
        return self.raw[:8] == MAGIC and self._own_hash_holds() and self.version != VERSION

    def problems(self):
        """What is wrong with the block itself, one text each; none when it can be believed."""
        if len(self.raw) < SIZE:
            return [f"user block: the file has {len(self.raw)} bytes, fewer than the block's {SIZE}"]
        if self.raw[:8] != MAGIC:
            return [f"user block, bytes 0-7: {self.raw[:8]!r} instead of {MAGIC!r}"]
        found = []
        if self.version != VERSION:
            found.append(f"user block, bytes 8-11: version {self.version} instead of {VERSION}")
        if any(self.raw[12:16]):
            found.append("user block, bytes 12-15: not zero")
        if not self._own_hash_holds():
            found.append("user block, bytes 0-55: do not match their hash")
        if any(self.raw[56:]):
            found.append("user block, bytes 56-511: not zero")
        if self.length != self.file_size:
            found.append(f"length: the file has {self.file_size} bytes, its user block says {self.length}")
        return found

    def content_matches(self, path):
        """Whether the bytes after the block have the hash that the block gives."""
        hasher = xxhash.xxh3_128()
        with open(path, "rb") as file:
            file.seek(SIZE)
            while block := file.read(_BLOCK):
                hasher.update(block)
        return hasher.digest() == self.content_hash

    def _own_hash_holds(self):
        return xxhash.xxh3_128_digest(self.raw[:40]) == self.raw[40:56]
