"""`info`: what a checkpoint is, in lines for people. Reads the parameters once, of the rest only small things."""

import json
import math

import numpy as np

from lockstep_analysis.checkpoint import Checkpoint
from lockstep_analysis.locate import checkpoint_file
from lockstep_analysis.text import counted, one_line, shortened, table

_SMALL = 8  # a counter of more elements is shown by its shape


def run(options):
    path = checkpoint_file(options.path)
    with Checkpoint(path) as checkpoint:
        for line in describe(checkpoint):
            print(line)
    return 0


def describe(checkpoint):
    deck = checkpoint.deck()
    yield f"checkpoint   {one_line(checkpoint.path)}"
    yield f"format       version {checkpoint.attribute('format_version')}, {checkpoint.path.stat().st_size:,} bytes"
    yield f"round        {checkpoint.round}"
    yield f"environment  {_entry(deck, 'environment')}"
    yield f"algorithm    {_entry(deck, 'algorithm')}"
    yield from _parameters(checkpoint.under("model"))
    yield from _counters(checkpoint.under("training/counters"))
    history = checkpoint.under("history")
    yield f"\nhistory: {counted(max((d.size for d in history.values()), default=0), 'round')} of"
    yield "  " + (", ".join(one_line(name) for name in history) or "nothing")
    yield "\ndeck"
    for name, section in deck.items():
        yield f"  {one_line(name)}: " + _section(section)
    yield "\nprovenance"
    for key, text in checkpoint.provenance().items():
        if key != "deck":
            yield f"  {one_line(key)}: {shortened(text, 90)}"


def norm(dataset):
    """The Euclidean norm of all values, in float64."""
    total = 0.0
    for _, bits in dataset.slabs():
        total += float(np.sum(np.square(dataset.type.values(bits).astype(np.float64))))
    return math.sqrt(total)


def _parameters(model):
    rows = [(one_line(name), _shape(d), d.type.name, f"{norm(d):.6g}") for name, d in model.items()]
    yield f"\nmodel: {counted(len(model), 'tensor')}, {sum(d.size for d in model.values()):,} values"
    for line in table(rows, ("name", "shape", "dtype", "norm")):
        yield "  " + line


def _counters(counters):
    yield "\ncounters"
    for name, dataset in counters.items():
        small = dataset.size <= _SMALL
        value = dataset.values().tolist() if small else f"{_shape(dataset)} {dataset.type.name}"
        yield f"  {one_line(name)}: {value}"


def _shape(dataset):
    return "x".join(map(str, dataset.shape)) or "scalar"


def _entry(deck, section):
    value = deck.get(section)
    return one_line(value["name"]) if isinstance(value, dict) and "name" in value else "not in the deck"


def _section(section):
    entries = section.items() if isinstance(section, dict) else [("", section)]
    return ", ".join(f"{one_line(key)} {one_line(json.dumps(value, ensure_ascii=False, default=str))}"
                     for key, value in entries)
