"""The command line: `python -m lockstep_analysis COMMAND ...`."""

import argparse
import importlib
import os
import sys

from lockstep_analysis.errors import AnalysisError
from lockstep_analysis.text import one_line


def main(arguments=None):
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a name never fails for the terminal's encoding
    options = _parser().parse_args(arguments)
    try:
        # Imported late: `verify` needs neither matplotlib nor Gymnasium.
        code = importlib.import_module(f"lockstep_analysis.{options.command}").run(options)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # whoever reads has seen enough
        return 1
    except AnalysisError as error:
        print(f"error: {one_line(error)}", file=sys.stderr)
        return error.code
    except OSError as error:
        print(f"error: {one_line(error.filename or options.command)}: {error.strerror or error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _parser():
    parser = argparse.ArgumentParser(
        prog="lockstep_analysis", description="Reads, verifies, compares, plots and plays Lockstep's checkpoints.",
        epilog="A path is a checkpoint file or a run directory (its latest checkpoint).", allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    command = commands.add_parser("info", help="what a checkpoint holds")
    command.add_argument("path", metavar="PATH")

    command = commands.add_parser("verify", help="check every hash; exit 0 good, 1 damaged, 2 missing")
    command.add_argument("path", metavar="PATH")

    command = commands.add_parser("compare", help="compare bit by bit; exit 0 equal, 1 different, 2 missing")
    command.add_argument("a", metavar="A")
    command.add_argument("b", metavar="B")
    command.add_argument("--checkpoint-only", action="store_true", help="leave metrics.jsonl of run directories out")

    command = commands.add_parser("plot", help="draw learning curves; the last line is the picture's path")
    command.add_argument("runs", metavar="RUN", nargs="+")
    command.add_argument("-o", "--output", metavar="PNG", help="default: curves.png in the first run directory")

    command = commands.add_parser("play", help="play the greedy policy in Gymnasium; return_mean comes last")
    command.add_argument("checkpoint", metavar="CHECKPOINT")
    command.add_argument("--episodes", type=_at_least(1), default=100)
    command.add_argument("--seed", type=_at_least(0), default=0)
    return parser


def _at_least(lowest):
    def number(text):
        value = int(text)
        if value < lowest:
            raise argparse.ArgumentTypeError(f"{value} is below {lowest}")
        return value

    return number


if __name__ == "__main__":
    sys.exit(main())
