"""What a command may fail with, and the exit code that goes with it."""


class AnalysisError(Exception):
    """Bad input: a missing or unreadable path, a key that is not there. Exit code 2."""

    code = 2


class DamagedError(AnalysisError):
    """A file that is there but does not hold what its format promises. `verify` exits 1 on it, the others 2."""


class PlayError(AnalysisError):
    """The policy failed while it was played. Exit code 1."""

    code = 1
