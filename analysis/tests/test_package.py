"""The surface itself: help, errors of the command line, a reader that goes away."""

import os
import subprocess
import sys
from pathlib import Path

from writer import write_checkpoint


def test_help_lists_the_commands(program):
    result = program("--help")
    assert (result.returncode, result.stderr) == (0, b"")
    for command in (b"info", b"verify", b"compare", b"plot", b"play"):
        assert command in result.stdout


def test_bad_command_lines_are_2(program):
    for arguments in ([], ["frobnicate"], ["verify"], ["compare", "a"], ["plot"]):
        assert program(*arguments).returncode == 2, arguments


def test_verify_loads_neither_matplotlib_nor_gymnasium(tmp_path):
    path = write_checkpoint(tmp_path / "a.h5")
    code = ("import sys; from lockstep_analysis.__main__ import main; assert main(sys.argv[1:]) == 0; "
            "assert not {'matplotlib', 'gymnasium', 'torch'} & set(sys.modules)")
    environment = {**os.environ, "PYTHONPATH": os.fspath(Path(__file__).parents[1])}
    subprocess.run([sys.executable, "-c", code, "verify", path], env=environment, check=True, stdout=subprocess.DEVNULL)


def test_reader_that_closes_the_pipe_is_no_traceback(tmp_path):
    path = write_checkpoint(tmp_path / "a.h5")
    environment = {**os.environ, "PYTHONPATH": os.fspath(Path(__file__).parents[1])}
    reader, writer = os.pipe()
    os.close(reader)
    result = subprocess.run([sys.executable, "-m", "lockstep_analysis", "info", path], env=environment, stdout=writer,
                            stderr=subprocess.PIPE)
    os.close(writer)
    assert (result.returncode, result.stderr) == (1, b"")
