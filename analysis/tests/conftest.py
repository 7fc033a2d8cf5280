"""What the tests share: commands run in this process, or as users run them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from lockstep_analysis.__main__ import main


@pytest.fixture
def command(capsys):
    """Runs a command; gives (exit code, standard output, standard error)."""

    def run(*arguments):
        code = main([os.fspath(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def program():
    """Runs `python -m lockstep_analysis` as a process of its own, with `changes` to the environment."""

    def run(*arguments, **changes):
        package = Path(__file__).parents[1]
        environment = {**os.environ, "PYTHONPATH": os.fspath(package), **changes}
        return subprocess.run([sys.executable, "-m", "lockstep_analysis", *map(os.fspath, arguments)],
                              env=environment, capture_output=True, timeout=120)

    return run
