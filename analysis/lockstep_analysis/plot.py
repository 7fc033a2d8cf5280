"""`plot`: one picture of one or several runs; its path is the last line printed."""

import os
import sys
import warnings
from pathlib import Path

from lockstep_analysis import curves, figure
from lockstep_analysis.errors import AnalysisError
from lockstep_analysis.locate import is_run_directory
from lockstep_analysis.text import counted, one_line


def run(options):
    output = _output(options)
    runs = [curves.load(path) for path in options.runs]
    if len({loaded.label for loaded in runs}) < len(runs):  # two seeds of one name: the paths tell them apart
        for loaded, path in zip(runs, options.runs):
            loaded.label = one_line(path)
    for loaded in runs:
        last = int(loaded.columns["environment_steps"][-1])
        print(f"{loaded.label}: {loaded.columns['environment_steps'].size} rounds, {last:,} environment steps")
        for name, count in loaded.gaps().items():
            print(f"note: {loaded.label}: {one_line(name)} has no value in {counted(count, 'round')}")
    _publish(figure.draw(runs), output)
    sys.stdout.flush()
    _print_path(output)
    return 0


def _output(options):
    if options.output is not None:
        path = Path(options.output)
    elif is_run_directory(options.runs[0]):
        path = Path(options.runs[0]) / "curves.png"
    else:
        path = Path(options.runs[0]).with_suffix(".png")
    if path.suffix.lower() != ".png":
        raise AnalysisError(f"{one_line(path)}: the picture is a PNG, so its name must end in .png")
    if not path.parent.is_dir() and Path(options.runs[0]).exists():
        raise AnalysisError(f"{one_line(path.parent)}: no such folder")
    return path


def _publish(drawn, path):
    """A reader sees the old picture or the new one, never half of one."""
    temporary = path.with_name(f".{os.getpid()}.tmp.png")
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph .* missing")  # a script that the font lacks: boxes are drawn
            drawn.savefig(temporary, format="png", dpi=figure.DPI)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _print_path(path):
    """The file's own bytes, so that a script can use the line whatever the terminal's encoding."""
    sys.stdout.buffer.write(os.fsencode(path) + b"\n")
    sys.stdout.buffer.flush()
