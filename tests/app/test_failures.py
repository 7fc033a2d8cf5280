"""Failures that explain themselves, and runs that go on from them."""

import os
import pathlib
import signal
import subprocess
import time
import unittest

from program import OFF_POLICY_DECKS, ProgramTest


def ranks_of(launcher_pid):
    """Process ids of the program's ranks under a launcher, by rank."""
    found = {}
    children = pathlib.Path(f"/proc/{launcher_pid}/task/{launcher_pid}/children").read_text().split()
    for child in children:
        try:
            variables = pathlib.Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
        for variable in variables:
            if variable.startswith(b"OMPI_COMM_WORLD_RANK="):
                found[int(variable.split(b"=")[1])] = int(child)
    return found


class Failures(ProgramTest):
    LONG = ("run.rounds=100000", "checkpoint.every=50", "evaluation.every=0")

    def start(self, run, *sets, ranks=2):
        arguments = ["train", self.deck, "--output", self.folder / run]
        for item in sets:
            arguments += ["--set", item]
        process = subprocess.Popen(
            self.command(*arguments, ranks=ranks),
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
        )
        self.addCleanup(self.end, process)
        self.wait_for(lambda: (self.folder / run / "metrics.jsonl").exists() and len(self.metrics(run)) > 2)
        return process

    @staticmethod
    def end(process):
        process.kill()
        process.communicate()

    def wait_for(self, condition, seconds=60):
        end = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), end, "waited in vain")
            time.sleep(0.05)

    def finish(self, process, seconds=10):
        started = time.monotonic()
        text, _ = process.communicate(timeout=seconds)
        self.assertLess(time.monotonic() - started, seconds)
        return text

    def test_a_rank_that_throws_ends_the_job_with_its_message(self):
        for site in ("step:1:4:throw", "collect:1:2:throw", "record:0:2:throw"):
            started = time.monotonic()
            result = self.train(f"run-{site[:4]}", ranks=2, fault=site, expect=None)
            self.assertNotIn(result.code, (0, 2, 3))
            self.assertIn(f"injected fault at {site.split(':')[0]}", result.text)
            self.assertIn(f"rank {site.split(':')[1]}", result.text)
            self.assertLess(time.monotonic() - started, 10)

    def test_a_killed_rank_ends_the_job_and_is_named(self):
        process = self.start("run", *self.LONG)
        os.kill(ranks_of(process.pid)[1], signal.SIGKILL)
        text = self.finish(process)
        self.assertNotEqual(process.returncode, 0)
        self.assertIn("rank 1", text)

    def test_a_run_directory_that_vanishes_is_noticed_at_the_next_line(self):
        process = self.start("run", "run.rounds=100000", "checkpoint.every=100000", "evaluation.every=0")
        (self.folder / "run").rename(self.folder / "moved")
        text = self.finish(process)
        self.assertNotIn(process.returncode, (0, 2, 3))
        self.assertIn("metrics.jsonl' was removed or replaced", text)

    def test_a_second_job_on_the_same_run_directory_is_refused(self):
        process = self.start("run", *self.LONG)
        second = self.train("run", ranks=2, expect=None)
        self.assert_refused(second, str(ranks_of(process.pid)[0]))
        self.assertIsNone(process.poll())

    def test_stop_signals_save_and_exit_with_three(self):
        for number, ranks in ((signal.SIGUSR1, 2), (signal.SIGTERM, 1), (signal.SIGINT, 1)):
            run = f"run-{number.name}"
            process = self.start(run, *self.LONG, ranks=ranks)
            process.send_signal(number)
            text = self.finish(process)
            self.assertEqual(process.returncode, 3, text)
            last = self.metrics(run)[-1]["round"]
            self.assertEqual(self.checkpoints(run)[-1], f"round_{last:010d}.h5")

    def test_a_stop_is_heard_in_rounds_without_steps(self):
        self.deck = self.write("small.toml", OFF_POLICY_DECKS["dqn"])
        process = self.start("run", *self.LONG, "replay.initial_steps=1000000000")
        process.send_signal(signal.SIGUSR1)
        text = self.finish(process)
        self.assertEqual(process.returncode, 3, text)
        self.assertEqual(self.metrics("run")[-1]["step"], 0)

    def test_a_signal_ends_an_evaluation(self):
        self.train("run", "run.rounds=1")
        process = subprocess.Popen(
            self.command("evaluate", self.folder / "run", "--episodes", "1000000"),
            cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )
        self.addCleanup(self.end, process)
        time.sleep(2)
        process.send_signal(signal.SIGTERM)
        text = process.communicate(timeout=10)[1]
        self.assertEqual(process.returncode, 1, text)
        self.assertIn("stopped by a signal", text)

    def test_a_stopped_run_goes_on_bit_equal(self):
        sets = ("run.rounds=400", "checkpoint.every=1000", "evaluation.every=0")
        process = self.start("stopped", *sets)
        process.send_signal(signal.SIGUSR1)
        self.finish(process)
        self.assertEqual(process.returncode, 3)
        self.train("stopped", *sets, ranks=4)
        self.train("straight", *sets, ranks=1)
        self.assert_same_run("straight", "stopped")

    def test_a_bad_number_on_one_rank_skips_the_step_on_all(self):
        for sharding in ("optimizer", "none"):
            result = self.train(sharding, f"learner.sharding={sharding}", ranks=2, fault="step:1:3:nan")
            self.assertEqual([line.get("skipped", 0) for line in self.metrics(sharding)].count(1), 1)
            self.assertIn("step skipped after step 3", result.text)
            self.assertIn("first parameter with a non-finite gradient: actor.", result.text)
        self.assert_same_run("optimizer", "none")

    def test_a_stop_during_evaluation_runs_it_again_on_resume(self):
        sets = ("run.rounds=3", "evaluation.every=2", "evaluation.episodes=200000")
        arguments = ["train", self.deck, "--output", self.folder / "stopped"]
        for item in sets:
            arguments += ["--set", item]
        process = subprocess.Popen(
            self.command(*arguments, ranks=2), cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        self.addCleanup(self.end, process)
        self.wait_for(lambda: (self.folder / "stopped" / "metrics.jsonl").exists() and len(self.metrics("stopped")) == 1)
        time.sleep(0.5)
        process.send_signal(signal.SIGUSR1)
        text = process.communicate(timeout=30)[1]
        self.assertEqual(process.returncode, 3, text)
        self.assertEqual(len(self.metrics("stopped")), 1)
        self.assertEqual(self.checkpoints("stopped")[-1], "round_0000000002.h5")
        self.train("stopped", *sets, ranks=1)
        self.train("straight", *sets, ranks=2)
        self.assert_same_run("straight", "stopped")


class KilledAnywhere(ProgramTest):
    """SIGKILL of the whole job at any moment, then the same command: bit-equal to the undisturbed run."""

    SITES = (
        [f"checkpoint.{place}:0:3:kill" for place in ("begin", "chunk", "close", "sync", "verify", "rename", "directory", "pointer", "prune")]
        + ["collect:1:3:kill", "step:0:9:kill", "evaluate:1:*:kill", "record:0:1:kill"]
    )

    def test_every_site(self):
        self.train("straight", ranks=2)
        for site in self.SITES:
            with self.subTest(site=site):
                run = site.replace(":", "-").replace("*", "any")
                killed = self.train(run, ranks=2, fault=site, expect=None)
                self.assertNotEqual(killed.code, 0)
                self.train(run, ranks=2)
                self.assert_same_run("straight", run)

    def test_random_moments(self):
        self.train("straight", "run.rounds=200", "evaluation.every=50", ranks=2)
        arguments = ["train", self.deck, "--output", self.folder / "killed", "--set", "run.rounds=200", "--set", "evaluation.every=50"]
        for attempt in range(6):
            process = subprocess.Popen(
                self.command(*arguments, ranks=2),
                cwd=self.folder,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            time.sleep(1.2 + 0.37 * attempt)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        # The launcher's death ends its ranks a moment later; until then they hold the lock.
        for _ in range(50):
            result = self.train("killed", "run.rounds=200", "evaluation.every=50", ranks=2, expect=None)
            if result.code != 2:
                break
            time.sleep(0.2)
        self.assertEqual(result.code, 0, result.text)
        self.assert_same_run("straight", "killed")


if __name__ == "__main__":
    unittest.main()
