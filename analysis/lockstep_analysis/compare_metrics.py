"""The metrics.jsonl of two runs, line by line, timings aside."""

import struct
from itertools import zip_longest

from lockstep_analysis.errors import AnalysisError
from lockstep_analysis.metrics import metrics_file, parse
from lockstep_analysis.text import one_line, shortened

_LISTED = 5  # lines that are described; the others are counted


def compare_metrics(run_a, run_b):
    """(lines compared, texts of the differences)."""
    path_a, path_b = metrics_file(run_a), metrics_file(run_b)
    missing = [path for path in (path_a, path_b) if not path.is_file()]
    if len(missing) == 2:
        raise AnalysisError(f"neither run has a metrics.jsonl ({one_line(path_a)}, {one_line(path_b)}); "
                            "give --checkpoint-only to compare their checkpoints alone")
    if missing:
        return 0, [f"metrics.jsonl: only in {'B' if missing[0] == path_a else 'A'}"]
    found, count, differing = [], 0, 0
    with open(path_a, "rb") as a, open(path_b, "rb") as b:
        for count, (line_a, line_b) in enumerate(zip_longest(a, b), 1):
            if difference := _line(line_a, line_b):
                differing += 1
                if differing <= _LISTED:
                    found.append(f"metrics.jsonl line {count}: {difference}")
    if differing > _LISTED:
        found.append(f"metrics.jsonl: {differing - _LISTED} of its other lines")
    return count, found


def _line(line_a, line_b):
    """What differs, "" when nothing does."""
    if line_a is None or line_b is None:
        return f"only in {'A' if line_b is None else 'B'}"
    objects, problems = [], []
    for side, line in (("A", line_a), ("B", line_b)):
        try:
            objects.append(parse(line))
        except ValueError as error:
            problems.append(f"of {side} {one_line(error)}")
    return "; ".join(problems or _objects(*objects))


def _objects(a, b):
    found = []
    for key in sorted((a.keys() | b.keys()) - {"timings"}):
        if key not in a or key not in b:
            found.append(f"{one_line(key)} only in {'A' if key in a else 'B'}")
        elif not _same(a[key], b[key]):
            found.append(f"{one_line(key)} {shortened(a[key])} | {shortened(b[key])}")
    return found


def _same(a, b):
    """Equality by type and bits: 1 is not 1.0, 0.0 is not -0.0."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return struct.pack("<d", a) == struct.pack("<d", b)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    return a == b
