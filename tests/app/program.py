"""Runs the real program under the real launcher, for whole-program tests.

The executable and the Python that has lockstep_analysis come from the environment (LOCKSTEP_EXECUTABLE, LOCKSTEP_PYTHON),
which tests/app/CMakeLists.txt sets.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXECUTABLE = os.environ["LOCKSTEP_EXECUTABLE"]
PYTHON = os.environ.get("LOCKSTEP_PYTHON", sys.executable)
MPIEXEC = os.environ.get("LOCKSTEP_MPIEXEC", "mpiexec")

# A run of a few seconds that still has epochs, minibatches, ends of episodes, schedules, evaluation and checkpoints.
SMALL_DECK = """
[run]
seed = 3
rounds = 6
[environment]
name = "CartPole-v1"
count = 8
[algorithm]
name = "ppo"
rollout_steps = 16
epochs = 2
minibatch_size = 64
clip_schedule = "linear"
normalize_advantage = true
[network]
hidden = [16, 16]
[optimizer]
schedule = "linear"
[learner]
shards = 8
clip_norm = 0.5
[evaluation]
every = 3
episodes = 5
[checkpoint]
every = 1
keep = 20
"""


# The same of the algorithms that replay: two rounds of random actions, then updates from rings that are overwritten.
OFF_POLICY_DECK = """
[run]
seed = 3
rounds = 6
[algorithm]
name = "{algorithm}"
{keys}
[environment]
name = "{environment}"
count = 8
[replay]
capacity = 200
batch_size = 64
initial_steps = 100
rollout_steps = 6
updates = 3
[network]
hidden = [16, 16]
activation = "relu"
[optimizer]
schedule = "linear"
[learner]
shards = 8
clip_norm = 0.5
[evaluation]
every = 3
episodes = 5
[checkpoint]
every = 1
keep = 20
"""

OFF_POLICY_DECKS = {
    "dqn": OFF_POLICY_DECK.format(
        algorithm="dqn", environment="CartPole-v1", keys="target_every = 4\nepsilon_end = 0.1\nepsilon_steps = 200"
    ),
    "sac": OFF_POLICY_DECK.format(algorithm="sac", environment="Pendulum-v1", keys=""),
    "td3": OFF_POLICY_DECK.format(algorithm="td3", environment="Pendulum-v1", keys="actor_every = 2"),
}


class Result:
    def __init__(self, process):
        self.code = process.returncode
        self.out = process.stdout
        self.err = process.stderr
        self.text = self.out + self.err


class ProgramTest(unittest.TestCase):
    """A scratch folder with a small deck, and ways to run the program in it."""

    maxDiff = None

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="lockstep-app-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.deck = self.write("small.toml", SMALL_DECK)

    def write(self, name, text):
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def command(self, *arguments, ranks=1, program=EXECUTABLE):
        launcher = [MPIEXEC, "-n", str(ranks)] if ranks > 1 else []
        return [*launcher, str(program), *map(str, arguments)]

    def run_program(self, *arguments, ranks=1, fault=None, timeout=90, environment=None, program=EXECUTABLE):
        variables = dict(os.environ if environment is None else environment)
        if fault:
            variables["LOCKSTEP_FAULT"] = fault
        return Result(
            subprocess.run(
                self.command(*arguments, ranks=ranks, program=program),
                cwd=self.folder,
                env=variables,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=timeout,
            )
        )

    def train(self, run, *sets, ranks=1, expect=0, **options):
        extra = options.pop("extra", [])
        arguments = ["train", self.deck, "--output", self.folder / run, *extra]
        for item in sets:
            arguments += ["--set", item]
        result = self.run_program(*arguments, ranks=ranks, **options)
        if expect is not None:
            self.assertEqual(result.code, expect, result.text)
        return result

    def analysis(self, *arguments):
        return Result(
            subprocess.run(
                [PYTHON, "-m", "lockstep_analysis", *map(str, arguments)],
                cwd=self.folder,
                capture_output=True,
                text=True,
                timeout=180,
            )
        )

    def assert_same_run(self, a, b):
        """Bit-equal newest checkpoints, and equal metric lines but for timings, by the tool that users have."""
        result = self.analysis("compare", self.folder / a, self.folder / b)
        self.assertEqual(result.code, 0, result.text)

    def metrics(self, run):
        lines = (self.folder / run / "metrics.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def checkpoints(self, run):
        return sorted(path.name for path in (self.folder / run / "checkpoints").glob("round_*.h5"))

    def assert_refused(self, result, *texts, code=2):
        self.assertEqual(result.code, code, result.text)
        for text in texts:
            self.assertIn(text, result.text)

    def assert_nothing_written(self, run):
        self.assertFalse((self.folder / run).exists(), f"{run} was made")
