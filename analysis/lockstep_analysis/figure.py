"""The picture of `plot`: returns, rate, losses, entropy and KL over environment steps. Needs no display."""

import itertools
import logging

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, MaxNLocator

DPI = 150
SIZE = (11.0, 6.2)  # inches
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#5d3a9b", "#444444")
_STYLES = ("-", "--", ":", "-.")
_SMOOTH_FROM = 60  # rounds; a longer curve gets a running mean over a thirtieth of it
_LONGEST = 40  # characters of a run's name

logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)  # a name in a script the font lacks is no fault


def draw(runs):
    """A figure of SIZE of one or more Curves."""
    drawn = Figure(figsize=SIZE, layout="constrained")
    FigureCanvasAgg(drawn)
    axes = drawn.subplot_mosaic([["return", "return", "rate"], ["losses", "entropy", "kl"]], height_ratios=[1.25, 1])
    titles = list(dict.fromkeys(run.title for run in runs if run.title))
    names = _short(runs[0].label) if len(runs) == 1 else f"{len(runs)} runs"
    drawn.suptitle(" | ".join([names, *titles]), fontsize=12, fontweight="bold", parse_math=False)
    _returns(axes["return"], runs)
    _one_metric(axes["rate"], runs, lambda run: run.rate, "Throughput", "environment steps / s")
    axes["rate"].set_ylim(bottom=0)
    axes["rate"].yaxis.set_major_formatter(EngFormatter(sep=""))
    _losses(axes["losses"], runs)
    _one_metric(axes["entropy"], runs, lambda run: run.columns.get("entropy"), "Policy entropy", "nats")
    _one_metric(axes["kl"], runs, lambda run: run.columns.get("kl_approx"), "KL divergence (approx.)", "nats")
    for panel in axes.values():
        _dress(panel, runs)
    return drawn


def _returns(axis, runs):
    _head(axis, "Learning curve", "return / episode")
    entries, evaluations = [], []
    for run, colour in zip(runs, itertools.cycle(_COLOURS)):
        line = _curve(axis, run, run.columns["return_mean"], colour)
        entries.append((line, _training_label(run) if len(runs) == 1 else _short(run.label)))
        evaluations += _evaluation(axis, run, _darker(colour))
    if evaluations:
        entries.append((evaluations[0], "greedy evaluation"))
    if not any(np.isfinite(run.columns["return_mean"]).any() for run in runs):
        _absent(axis, "no episode has ended")
    _legend(axis, entries)


def _training_label(run):
    window = _window(run)
    return "training, mean of a round" if window < 2 else f"training, running mean of {window} rounds"


def _evaluation(axis, run, colour):
    values = run.columns.get("evaluation_return_mean")
    if values is None or not np.isfinite(values).any():
        return []
    there = np.isfinite(values)
    return axis.plot(run.columns["environment_steps"][there], values[there], "o--", color=colour, markersize=4.5,
                     linewidth=1, markeredgecolor="white", markeredgewidth=0.6, zorder=4)


def _losses(axis, runs):
    _head(axis, "Losses", "loss")
    names = sorted({name for run in runs for name in run.losses()})
    if not names:
        _absent(axis, "not recorded")
        return
    entries, values = [], []
    for i, name in enumerate(names):
        style = "-" if len(runs) == 1 else _pick(_STYLES, i)
        for j, run in enumerate(runs):
            if name in run.columns:
                values.append(run.columns[name])
                line = _curve(axis, run, values[-1], _pick(_COLOURS, i if len(runs) == 1 else j), style)
        # Of several runs the colour tells the run, the style the loss.
        key = line if len(runs) == 1 else Line2D([], [], color="#444444", linestyle=style)
        entries.append((key, name.removeprefix("loss_")))
    _scale(axis, values)
    _legend(axis, entries)


def _one_metric(axis, runs, column, title, unit):
    _head(axis, title, unit)
    drawn = False
    for run, colour in zip(runs, itertools.cycle(_COLOURS)):
        values = column(run)
        if values is not None and np.isfinite(values).any():
            _curve(axis, run, values, colour)
            drawn = True
    if not drawn:
        _absent(axis, "not recorded")


def _curve(axis, run, values, colour, style="-"):
    """The values, and over long noisy ones their running mean; returns the line for the legend."""
    steps = run.columns["environment_steps"]
    values = np.where(np.isfinite(values), values, np.nan)
    window = _window(run)
    marker = "." if np.isfinite(values).sum() < 2 else None  # a single value makes no line
    if window < 2:
        line, = axis.plot(steps, values, style, color=colour, linewidth=1.5, marker=marker)
        return line
    axis.plot(steps, values, "-", color=colour, linewidth=0.8, alpha=0.28, marker=marker)
    line, = axis.plot(steps, _running_mean(values, window), style, color=colour, linewidth=1.7)
    return line


def _window(run):
    rounds = run.columns["environment_steps"].size
    return rounds // 30 if rounds >= _SMOOTH_FROM else 1


def _running_mean(values, window):
    """Over the last `window` rounds, of those that have a value."""
    there = np.isfinite(values)
    sums, counts = (np.convolve(part, np.ones(window))[: values.size] for part in (np.where(there, values, 0), there))
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _scale(axis, values):
    """Losses of very different sizes share a panel only on a scale that is logarithmic away from zero."""
    sizes = [np.nanmedian(np.abs(column)) for column in values if np.isfinite(column).any()]
    sizes = [size for size in sizes if size > 0]
    if sizes and max(sizes) > 30 * min(sizes):
        axis.set_yscale("symlog", linthresh=10.0 ** np.floor(np.log10(min(sizes))), linscale=0.5)


def _head(axis, title, unit):
    axis.set_title(title, fontsize=10, loc="left")
    axis.set_ylabel(unit, fontsize=9)


def _dress(axis, runs):
    axis.set_xlabel("environment steps", fontsize=9)
    axis.set_xlim(0, 1.015 * max(run.columns["environment_steps"][-1] for run in runs))
    axis.xaxis.set_major_formatter(EngFormatter(sep=""))
    axis.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    axis.tick_params(labelsize=8)
    axis.grid(True, color="#dddddd", linewidth=0.6)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)


def _absent(axis, text):
    axis.text(0.5, 0.5, text, transform=axis.transAxes, ha="center", va="center", color="#777777", fontsize=9)
    axis.set_yticks([])


def _legend(axis, entries):
    """Labels are set afterwards: matplotlib hides those that begin with '_' and reads '$' as mathematics."""
    legend = axis.legend([line for line, _ in entries], ["label"] * len(entries), fontsize=8, frameon=True,
                         framealpha=0.85, edgecolor="none", loc="best")
    for text, (_, label) in zip(legend.get_texts(), entries):
        text.set_parse_math(False)
        text.set_text(label)


def _short(label):
    """A path tells most at its end."""
    return label if len(label) <= _LONGEST else "..." + label[-_LONGEST:]


def _pick(values, index):
    return values[index % len(values)]


def _darker(colour):
    return tuple(int(colour[i : i + 2], 16) / 255 * 0.6 for i in (1, 3, 5))
