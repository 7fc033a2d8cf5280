"""A checkpoint file, opened: its datasets by path, and the texts, histories and counters that people ask for."""

import os
import re
import tomllib
from pathlib import Path

import h5py
import numpy as np

from lockstep_analysis.dataset import Dataset, reading
from lockstep_analysis.errors import AnalysisError, DamagedError
from lockstep_analysis.text import one_line
from lockstep_analysis.user_block import VERSION, UserBlock

_DEEPEST = 200  # groups inside each other; a loop of hard links would never end


class Checkpoint:
    """Use in a `with` block. Opening reads the names and types only; `checked=False` leaves the user block unread."""

    def __init__(self, path, checked=True):
        self.path = Path(path)
        if checked:
            _check_user_block(path)
        with reading(path):
            self._file = h5py.File(os.fsencode(path), "r", locking=False)
        try:
            self.datasets = self._walk()
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def close(self):
        self._file.close()

    def attribute(self, name):
        """An integer attribute of the root, None where it is missing."""
        with reading(f"{self.path}: root attribute {name}"):
            value = self._file.attrs.get(name)
            if value is None:
                return None
            if not isinstance(value, np.integer):
                raise DamagedError("is not one integer")
            return int(value)

    @property
    def round(self):
        number = self.attribute("round")
        if number is None:
            raise DamagedError(f"{one_line(self.path)}: the root attribute round is missing")
        return number

    def under(self, group):
        """The datasets under /`group`, by their names without it, in the order that a reader expects."""
        prefix = f"/{group}/"
        found = {d.name.removeprefix(prefix[1:]): d for p, d in self.datasets.items() if p.startswith(prefix)}
        return dict(sorted(found.items(), key=lambda item: _natural(item[0])))

    def dataset(self, path):
        if path not in self.datasets:
            raise AnalysisError(f"{one_line(self.path)}: holds no {one_line(path.removeprefix('/'))}")
        return self.datasets[path]

    def provenance(self):
        return {name: _text(dataset) for name, dataset in self.under("provenance").items()}

    def deck(self):
        """The effective deck, as nested dictionaries."""
        dataset = self.dataset("/provenance/deck")
        try:
            return tomllib.loads(_text(dataset))
        except tomllib.TOMLDecodeError as error:
            raise DamagedError(f"{one_line(self.path)}: provenance/deck is not TOML: {one_line(error)}") from None

    def _walk(self):
        found = {}
        with reading(self.path):
            self._collect(self._file, "", found, 0)
        return found

    def _collect(self, group, prefix, found, depth):
        if depth > _DEEPEST:
            raise DamagedError(f"groups are nested deeper than {_DEEPEST}, at {one_line(prefix)}")
        for name in sorted(group):
            path = f"{prefix}/{name}"
            # Only what is in the file itself: soft and external links are no part of the format.
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                raise DamagedError(f"{one_line(path)} is a link")
            member = group[name]
            if isinstance(member, h5py.Group):
                self._collect(member, path, found, depth + 1)
            elif isinstance(member, h5py.Dataset):
                found[path] = Dataset(path, member)
            else:
                raise DamagedError(f"{one_line(path)} is neither a group nor a dataset")


def _check_user_block(path):
    block = UserBlock.read(path)
    if block.is_newer():
        raise AnalysisError(f"{one_line(path)}: format version {block.version}, this package reads {VERSION}")
    if problems := block.problems():
        raise DamagedError(f"{one_line(path)}: {problems[0]}")


def _text(dataset):
    if dataset.type.name != "uint8":
        raise DamagedError(f"{one_line(dataset.name)}: {dataset.type.name} instead of text in uint8")
    return dataset.bits().tobytes().decode("utf-8", "surrogateescape")


def _natural(name):
    """A key that puts actor.2 before actor.10."""
    parts = re.split("([0-9]+)", name)  # every second part is a number
    return [(0, int(part), "") if i % 2 else (1, 0, part) for i, part in enumerate(parts)]
