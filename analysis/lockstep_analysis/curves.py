"""What a run recorded, round by round, as arrays: from metrics.jsonl, or from a checkpoint's /history."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lockstep_analysis import metrics
from lockstep_analysis.checkpoint import Checkpoint
from lockstep_analysis.errors import AnalysisError, DamagedError
from lockstep_analysis.locate import checkpoint_file, is_run_directory
from lockstep_analysis.text import one_line

REQUIRED = ("environment_steps", "return_mean")  # in every round, though a return may be null
RATE = "environment_steps_per_s"
_NOW_AND_THEN = ("return_mean", "evaluation_")  # metrics that are null in some rounds of any run


@dataclass
class Curves:
    """One run. A column holds one float64 a round, NaN where the run recorded null or nothing."""

    label: str
    title: str  # environment and algorithm, "" when unknown
    columns: dict
    rate: np.ndarray | None  # environment steps a second; None when the source has no timings

    def losses(self):
        return sorted(name for name in self.columns if name.startswith("loss"))

    def gaps(self):
        """Rounds without a value, by metric, of metrics that every round should have."""
        counts = {name: int(np.isnan(column).sum()) for name, column in sorted(self.columns.items())
                  if not name.startswith(_NOW_AND_THEN)}
        return {name: count for name, count in counts.items() if count}


def load(path):
    """Of a run directory with metrics.jsonl those lines, else the history of its checkpoint."""
    label = one_line(Path(path).resolve().name or path)
    if is_run_directory(path) and metrics.metrics_file(path).is_file():
        curves = _from_lines(metrics.metrics_file(path), label, _title_of_run(path))
    else:
        curves = _from_history(checkpoint_file(path), label)
    _check(curves, path)
    return curves


def _from_lines(path, label, title):
    rows, rates = [], []
    for number, line in enumerate(metrics.lines(path), 1):
        timings = line.pop("timings", {})
        rates.append(timings.get(RATE) if isinstance(timings, dict) else None)
        for key in REQUIRED:
            if key not in line:
                raise DamagedError(f"{one_line(path)}: line {number}: {key} is missing")
        rows.append(line)
    if not rows:
        raise AnalysisError(f"{one_line(path)}: holds no round")
    columns = {key: _column([row.get(key) for row in rows], key, path) for key in set().union(*rows)}
    return Curves(label, title, columns, _rate(rates, path))


def _rate(rates, path):
    """A rate of 0 is that of a round before the first measurement."""
    rate = _column(rates, RATE, path)
    rate[rate == 0] = np.nan
    return None if np.isnan(rate).all() else rate


def _column(values, key, path):
    for number, value in enumerate(values, 1):
        if value is not None and not _is_number(value):
            raise DamagedError(f"{one_line(path)}: line {number}: {one_line(key)} is no number")
    return np.array([np.nan if value is None else float(value) for value in values])


def _is_number(value):
    """Of a float64's range: JSON allows integers of any size."""
    return type(value) is float or (type(value) is int and abs(value) < 2**1023)


def _from_history(path, label):
    with Checkpoint(path) as checkpoint:
        columns = {}
        for name, dataset in checkpoint.under("history").items():
            if dataset.type.name != "float64" or len(dataset.shape) != 1:
                raise DamagedError(f"{one_line(path)}: history/{one_line(name)} is no list of float64")
            dataset.check_hash()
            columns[name] = dataset.values()
        if len({column.size for column in columns.values()}) > 1:
            raise DamagedError(f"{one_line(path)}: the metrics of /history have different lengths")
        if not columns or next(iter(columns.values())).size == 0:
            raise AnalysisError(f"{one_line(path)}: /history holds no round")
        return Curves(label, _title(checkpoint.deck()), columns, None)


def _check(curves, path):
    for key in REQUIRED:
        if key not in curves.columns:
            raise AnalysisError(f"{one_line(path)}: recorded no {key}")
    steps = curves.columns["environment_steps"]
    if np.isnan(steps).any() or (np.diff(steps) <= 0).any():
        round_number = int(np.flatnonzero(np.isnan(steps) | (np.diff(steps, prepend=-1) <= 0))[0]) + 1
        raise DamagedError(f"{one_line(path)}: environment_steps does not grow at entry {round_number}")


def _title_of_run(run):
    try:
        return _title(tomllib.loads((Path(run) / "deck.toml").read_text(encoding="utf-8")))
    except FileNotFoundError:
        return ""
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DamagedError(f"{one_line(run)}: deck.toml is not TOML: {one_line(error)}") from None


def _title(deck):
    names = [section.get("name") for section in (deck.get("environment"), deck.get("algorithm"))
             if isinstance(section, dict)]
    return ", ".join(one_line(name) for name in names if name)
