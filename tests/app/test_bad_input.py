"""Bad input: a clear message, exit code 2, nothing written; on one rank and on several."""

import os
import pathlib
import unittest

from program import SMALL_DECK, ProgramTest


class BadInput(ProgramTest):
    def check(self, *texts, sets=(), ranks=(1, 2)):
        for count in ranks:
            result = self.train("refused", *sets, ranks=count, expect=None)
            self.assert_refused(result, *texts)
            self.assert_nothing_written("refused")
            self.assertEqual(result.text.count("cause:"), 1, result.text)

    def test_misspelt_key(self):
        self.deck = self.write("small.toml", SMALL_DECK.replace("shards = 8", "shard = 8"))
        line = self.deck.read_text().splitlines().index("shard = 8") + 1
        self.check("did you mean", f"small.toml:{line}", "shards")

    def test_misspelt_section(self):
        self.deck = self.write("small.toml", SMALL_DECK.replace("[learner]", "[lerner]"))
        self.check("lerner", "learner")

    def test_wrong_type(self):
        self.check("learner.shards", sets=["learner.shards=true"])

    def test_ranks_that_do_not_divide_shards(self):
        self.check("shards", "3", "8", ranks=[3])

    def test_no_power_of_two_under_exact(self):
        sets = ["learner.shards=6", "environment.count=12", "algorithm.minibatch_size=96"]
        self.check("power of two", "fast", sets=sets, ranks=[2])

    def test_unknown_environment_names_the_nearest(self):
        self.check("CartPole-v1", sets=["environment.name=CartPole-v2"])

    def test_missing_deck(self):
        self.deck = self.folder / "absent.toml"
        self.check("absent.toml")

    def test_unwritable_output(self):
        (self.folder / "file").write_text("")
        for ranks in (1, 2):
            result = self.run_program("train", self.deck, "--output", self.folder / "file" / "run", ranks=ranks)
            self.assert_refused(result, "run directory", "file")

    def test_a_name_too_long_for_the_file_system(self):
        result = self.run_program("train", self.deck, "--output", self.folder / ("x" * 300))
        self.assert_refused(result, "255")
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["small.toml"])

    def test_sizes_that_do_not_divide_name_both_numbers(self):
        self.check("128", "60", sets=["algorithm.minibatch_size=60"])

    def test_command_line_errors(self):
        for arguments in (["train"], ["tran", "x"], [], ["train", "a", "b"], ["evaluate", "x", "--episodes", "0"]):
            self.assertEqual(self.run_program(*arguments).code, 2, arguments)


class BadCheckpoint(ProgramTest):
    def setUp(self):
        super().setUp()
        self.train("run", "run.rounds=2", "checkpoint.keep=1")
        self.file = self.folder / "run" / "checkpoints" / self.checkpoints("run")[-1]

    def damaged(self, change):
        path = self.folder / "damaged.h5"
        data = bytearray(self.file.read_bytes())
        path.write_bytes(change(data))
        return path

    def check_refused(self, path, *texts):
        for ranks in (1, 2):
            result = self.train("refused", ranks=ranks, expect=None, extra=["--resume", path])
            self.assert_refused(result, *texts)
            self.assert_nothing_written("refused")
        result = self.run_program("evaluate", path)
        self.assert_refused(result, *texts)

    def test_truncated(self):
        self.check_refused(self.damaged(lambda data: data[: len(data) // 2]), "damaged.h5")

    def test_one_flipped_bit(self):
        def flip(data):
            data[len(data) // 2] ^= 4
            return data

        self.check_refused(self.damaged(flip), "damaged.h5")

    def test_empty_and_missing(self):
        self.check_refused(self.damaged(lambda data: b""), "damaged.h5")
        self.check_refused(self.folder / "absent.h5", "absent.h5")

    def test_of_another_network(self):
        for ranks in (1, 2):
            result = self.train("other", "network.hidden=[32, 32]", ranks=ranks, expect=None, extra=["--resume", self.file])
            self.assert_refused(result, "network.hidden")
            self.assert_nothing_written("other")
            sets = ["network.hidden=[32, 32]", f"run.initialize_from={self.file}"]
            result = self.train("other", *sets, ranks=ranks, expect=None)
            self.assert_refused(result, "actor.0.weight", "[16, 4]", "[32, 4]")
            self.assert_nothing_written("other")

    def test_a_damaged_newest_file_falls_back_and_says_why(self):
        self.train("two", "run.rounds=2")
        newest = self.folder / "two" / "checkpoints" / "round_0000000002.h5"
        data = bytearray(newest.read_bytes())
        data[1000] ^= 1
        newest.write_bytes(data)
        result = self.train("two", "run.rounds=2", ranks=2)
        self.assertIn("round 1", result.text)
        self.assertIn("round_0000000002.h5", result.text)
        self.train("straight", "run.rounds=2")
        self.assert_same_run("straight", "two")

    def test_nothing_good_left_fails_loudly(self):
        self.file.write_bytes(b"LOCKSTEP")
        result = self.train("run", "run.rounds=2", expect=None)
        self.assert_refused(result, self.file.name)
        self.assertEqual(result.text.count(self.file.name), 1, result.text)

    def test_a_folder_without_checkpoints_is_refused(self):
        (self.folder / "bare").mkdir()
        self.check_refused(self.folder / "bare", "bare", "no checkpoint")

    def test_initialize_from_takes_the_model_alone(self):
        self.train("fresh", "run.rounds=1", f"run.initialize_from={self.folder / 'run'}")
        self.train("same", "run.rounds=1", f"run.initialize_from={self.file}")
        self.assert_same_run("fresh", "same")
        self.assertEqual(self.metrics("fresh")[0]["round"], 1)
        result = self.train("fresh", "run.rounds=2", f"run.initialize_from={self.file}")
        self.assertIn("wins", result.text)


class BareSurroundings(ProgramTest):
    def test_informing_commands_need_nothing(self):
        for arguments in (["--help"], ["keys"], ["keys", "learner"], ["list"], ["check", self.deck], ["--version"]):
            result = self.run_program(*arguments, environment={}, timeout=20)
            self.assertEqual(result.code, 0, result.text)
            self.assertEqual(result.err, "")

    def test_more_threads_than_cores_are_warned_of(self):
        cores = len(os.sched_getaffinity(0))
        result = self.train("many", "run.rounds=1", f"runtime.threads={cores + 1}")
        self.assertIn(f"warning: runtime.threads = {cores + 1}", result.text)
        self.assertIn(f"{cores} core", result.text)
        self.assertNotIn("warning", self.train("few", "run.rounds=1").text)

    def test_each_line_is_printed_once_under_a_launcher(self):
        alone = self.run_program("list")
        together = self.run_program("list", ranks=2)
        self.assertEqual(alone.out, together.out)

    def test_odd_surroundings_do_not_matter(self):
        environment = {k: v for k, v in os.environ.items() if k not in ("TERM",)}
        for value in ("", "0", "-3", "many", "4,2"):
            environment.update(OMP_NUM_THREADS=value, HOME="/proc/nowhere")
            self.train(f"run{len(value)}{value[:1]}", "run.rounds=1", environment=environment)

    def test_check_prints_the_effective_deck_and_the_estimate(self):
        result = self.run_program("check", self.deck, "--ranks", "4")
        self.assertEqual(result.code, 0)
        self.assertIn("# estimate for 4 ranks", result.text)
        effective = self.write("effective.toml", result.out)
        again = self.run_program("check", effective, "--ranks", "4")
        self.assertEqual(again.out, result.out)

    def test_names_appear_literally(self):
        name = "run {} %s ünï 100% {0}"
        self.train(name, "run.rounds=1")
        log = (self.folder / name / "log.txt").read_text()
        self.assertIn(name, log)
        self.assertEqual(len(self.metrics(name)), 1)
        self.train("new\nline", "run.rounds=1")
        self.assertIn("new\\nline", (self.folder / "new\nline" / "log.txt").read_text())
        self.assertEqual(len(self.metrics("new\nline")), 1)
        result = self.run_program("train", self.folder / "no {} %n deck.toml")
        self.assert_refused(result, "no {} %n deck.toml")


if __name__ == "__main__":
    unittest.main()
