"""`compare`: whether two checkpoints, or two runs, hold the same bits; if not, what differs and by how much.

Equality is of bits: the same NaN is equal, 0.0 and -0.0 are not, nor another dtype, shape or name. How a file lays its
datasets out does not matter. /provenance holds what may differ between equal runs: its differences are notes.
"""

from lockstep_analysis.checkpoint import Checkpoint
from lockstep_analysis.compare_bits import Difference
from lockstep_analysis.compare_metrics import compare_metrics
from lockstep_analysis.locate import checkpoint_file, is_run_directory
from lockstep_analysis.text import counted, one_line, shortened

_ATTRIBUTES = ("format_version", "round")


def run(options):
    path_a, path_b = checkpoint_file(options.a), checkpoint_file(options.b)
    both_runs = is_run_directory(options.a) and is_run_directory(options.b)
    with Checkpoint(path_a) as a, Checkpoint(path_b) as b:
        print(f"A  {one_line(path_a)}\nB  {one_line(path_b)}")
        differences = [*_attributes(a, b), *_datasets(a, b)]
        counts = [counted(len(_judged(a)), "dataset")]
        for note in _notes(a.provenance(), b.provenance()):
            print(f"note     {note}")
    if both_runs and not options.checkpoint_only:
        rounds, found = compare_metrics(options.a, options.b)
        differences += found
        counts.append(counted(rounds, "line") + " of metrics.jsonl")
    for difference in differences:
        print(f"differs  {difference}")
    print("different" if differences else f"equal: {', '.join(counts)}")
    return 1 if differences else 0


def _attributes(a, b):
    for name in _ATTRIBUTES:
        value_a, value_b = a.attribute(name), b.attribute(name)
        if value_a != value_b:
            yield f"attribute {name}: {_or_missing(value_a)} | {_or_missing(value_b)}"


def _or_missing(value):
    return "missing" if value is None else value


def _judged(checkpoint):
    return {path: d for path, d in checkpoint.datasets.items() if not path.startswith("/provenance/")}


def _datasets(a, b):
    in_a, in_b = _judged(a), _judged(b)
    for path in sorted(in_a.keys() | in_b.keys()):
        if path not in in_a or path not in in_b:
            present = in_a.get(path) or in_b[path]
            yield f"{one_line(present.name)}: only in {'A' if path in in_a else 'B'}"
        else:
            yield from _pair(in_a[path], in_b[path])


def _pair(a, b):
    name = one_line(a.name)
    if a.type.name != b.type.name:
        yield f"{name}: dtype {a.type.name} | {b.type.name}"
    if a.shape != b.shape:
        yield f"{name}: shape {list(a.shape)} | {list(b.shape)}"
    if (a.type.name, a.shape) == (b.type.name, b.shape):
        difference = Difference(a.type)
        for (first, bits_a), (_, bits_b) in zip(a.slabs(), b.slabs()):
            difference.add(first, bits_a, bits_b)
        if difference.count:
            yield f"{name}: {difference.describe(a.shape)}"


def _notes(a, b):
    for key in sorted(a.keys() | b.keys()):
        if key not in a or key not in b:
            yield f"provenance/{one_line(key)}: only in {'A' if key in a else 'B'}"
        elif a[key] != b[key]:
            yield f"provenance/{one_line(key)}: {_first_difference(a[key], b[key])}"


def _first_difference(a, b):
    """Short texts in full; of long ones the first line that differs."""
    lines_a, lines_b = a.split("\n"), b.split("\n")
    if max(len(lines_a), len(lines_b)) == 1:
        return f"{shortened(a)} | {shortened(b)}"
    number = next((i for i, pair in enumerate(zip(lines_a, lines_b)) if pair[0] != pair[1]),
                  min(len(lines_a), len(lines_b)))
    line_a, line_b = (lines[number] if number < len(lines) else "(ends)" for lines in (lines_a, lines_b))
    return f"line {number + 1}: {shortened(line_a)} | {shortened(line_b)}"
