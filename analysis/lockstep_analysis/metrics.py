"""metrics.jsonl, read strictly: one JSON object a line, no duplicate keys, no NaN, no text where numbers belong."""

import json
from pathlib import Path

from lockstep_analysis.errors import DamagedError
from lockstep_analysis.text import one_line, shortened

FILE_NAME = "metrics.jsonl"


def metrics_file(run):
    return Path(run) / FILE_NAME


def lines(path):
    """Yields the objects of the file's lines. DamagedError names path and line."""
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            try:
                yield parse(line)
            except ValueError as error:
                raise DamagedError(f"{one_line(path)}: line {number}: {one_line(error)}") from None


def parse(line):
    """The object of one line, with its line end. ValueError says what is wrong."""
    if not line.endswith(b"\n"):
        raise ValueError("does not end in a newline: it was cut off")
    try:
        value = json.loads(line.decode("utf-8"), object_pairs_hook=_object, parse_constant=_constant)
    except RecursionError:
        raise ValueError("is nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError(f"is no JSON object: {shortened(value)}")
    return value


def _object(pairs):
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("holds a key twice")
    return found


def _constant(text):
    raise ValueError(f"{text} is not JSON")
