"""From what the user names, a run directory or a file, to the checkpoint file that is meant."""

import re
import stat
import sys
from pathlib import Path

from lockstep_analysis.errors import AnalysisError
from lockstep_analysis.text import one_line, shortened

ROUND_FILE = re.compile(r"round_[0-9]{10}\.h5")


def is_run_directory(path):
    return Path(path).is_dir()


def checkpoint_file(path):
    """The file at `path`; of a run directory the one that checkpoints/latest names, else the newest round's."""
    path = Path(path)
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise AnalysisError(f"{one_line(path)}: {reason}") from None
    if stat.S_ISDIR(mode):
        return _of_run(path)
    if not stat.S_ISREG(mode):
        raise AnalysisError(f"{one_line(path)}: neither a file nor a run directory")
    return path


def _of_run(run):
    folder = run / "checkpoints"
    named = _named_by_latest(folder)
    if named is not None and ROUND_FILE.fullmatch(named) and (folder / named).is_file():
        return folder / named
    rounds = sorted(p.name for p in folder.glob("round_*.h5") if ROUND_FILE.fullmatch(p.name) and p.is_file())
    if not rounds:
        raise AnalysisError(f"{one_line(run)}: holds no checkpoints/round_<10 digits>.h5")
    if named is not None:
        where = one_line(folder / "latest")
        print(f"note: {where} says {shortened(named)!r}, which is no file there; using {rounds[-1]}", file=sys.stderr)
    return folder / rounds[-1]


def _named_by_latest(folder):
    """The one line of checkpoints/latest; None where there is no such file."""
    try:
        with open(folder / "latest", encoding="utf-8", errors="replace") as file:
            return file.read(4096).removesuffix("\n")
    except OSError:
        return None
