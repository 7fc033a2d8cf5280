"""`verify`: whether every byte of a checkpoint is as it was written; if not, what is damaged and where."""

import sys

from lockstep_analysis.checkpoint import Checkpoint
from lockstep_analysis.errors import AnalysisError, DamagedError
from lockstep_analysis.locate import checkpoint_file
from lockstep_analysis.text import counted, one_line
from lockstep_analysis.user_block import SIZE, VERSION, UserBlock


def run(options):
    path = checkpoint_file(options.path)
    checked, problems = inspect(path)
    for problem in problems:
        print(f"damaged  {problem}")
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        print(f"error: {one_line(path)}: damaged: {problems[0]}{more}", file=sys.stderr)
        return 1
    print(f"good  {one_line(path)}: user block, whole file, {counted(checked, 'dataset')}")
    return 0


def inspect(path):
    """(number of datasets whose hash holds, texts of what is wrong)."""
    block = UserBlock.read(path)
    if block.is_newer():
        raise AnalysisError(f"{one_line(path)}: format version {block.version}, this package reads {VERSION}")
    problems = block.problems()
    whole = len(block.raw) == SIZE and block.content_matches(path)
    good, damaged = _inspect_datasets(path)
    if not whole:
        place = "" if damaged else ", though every dataset is good: the damage is in what lies around them"
        problems.append(f"whole file: the bytes from {SIZE} on do not match their hash in the user block{place}")
    return good, problems + damaged


def _inspect_datasets(path):
    try:
        with Checkpoint(path, checked=False) as checkpoint:
            damaged = _inspect_attributes(checkpoint)
            good = 0
            for dataset in checkpoint.datasets.values():
                try:
                    dataset.check_hash()
                    good += 1
                except DamagedError as error:
                    damaged.append(f"dataset {error}")
            return good, damaged
    except DamagedError as error:
        return 0, [f"HDF5 part: {error}"]


def _inspect_attributes(checkpoint):
    version, number = checkpoint.attribute("format_version"), checkpoint.attribute("round")
    damaged = []
    if version != VERSION:
        damaged.append(f"root attribute format_version: {version} instead of {VERSION}")
    if number is None or number < 0:
        damaged.append(f"root attribute round: {number} is no round")
    return damaged
