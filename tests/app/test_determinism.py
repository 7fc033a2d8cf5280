"""The same bits on any number of ranks, and after any stop and resume on another."""

import unittest

from program import OFF_POLICY_DECKS, ProgramTest


class Determinism(ProgramTest):
    def check_ranks(self, ranks, *sets):
        for count in ranks:
            self.train(f"on{count}", *sets, ranks=count)
        for count in ranks[1:]:
            self.assert_same_run(f"on{ranks[0]}", f"on{count}")

    def test_eight_shards_sharding_optimizer(self):
        self.check_ranks([1, 2, 4, 8], "learner.sharding=optimizer")

    def test_eight_shards_sharding_none(self):
        self.check_ranks([1, 2, 4, 8], "learner.sharding=none")

    def test_two_leaves_a_shard_sharding_optimizer(self):
        self.check_ranks([1, 2, 4, 8], "learner.sharding=optimizer", "learner.accumulation=2")

    def test_two_leaves_a_shard_sharding_none(self):
        self.check_ranks([1, 2, 4, 8], "learner.sharding=none", "learner.accumulation=2")

    def test_four_shards_of_two_leaves(self):
        self.check_ranks([1, 2, 4], "learner.shards=4", "learner.accumulation=2")

    def test_twelve_shards_on_three_and_six_ranks(self):
        sets = ["learner.shards=12", "environment.count=12", "algorithm.minibatch_size=48", "run.rounds=3"]
        self.check_ranks([1, 3, 6], *sets)

    def test_sharding_and_backend_do_not_change_bits(self):
        self.train("optimizer", "learner.sharding=optimizer", ranks=2)
        self.train("none", "learner.sharding=none", ranks=2)
        self.train("mpi", "runtime.collectives=mpi", ranks=2)
        self.assert_same_run("optimizer", "none")
        self.assert_same_run("optimizer", "mpi")

    def test_continuous_actions(self):
        sets = ["environment.name=Pendulum-v1", "run.rounds=3", "network.log_std=state"]
        self.check_ranks([1, 4], *sets)


class Resume(ProgramTest):
    def stop_and_resume(self, first, second, *sets):
        self.train("straight", *sets, ranks=first)
        stopped = self.train("broken", *sets, ranks=first, fault="record:0:4:kill", expect=None)
        self.assertNotEqual(stopped.code, 0)
        self.assertEqual(self.checkpoints("broken")[-1], "round_0000000003.h5")
        resumed = self.train("broken", *sets, ranks=second)
        self.assertIn("round 3", resumed.text)
        self.assert_same_run("straight", "broken")

    def test_from_one_rank_to_four(self):
        self.stop_and_resume(1, 4)

    def test_from_one_to_two_with_accumulation_and_sharded_optimizer(self):
        self.stop_and_resume(1, 2, "learner.accumulation=2", "learner.sharding=optimizer")

    def test_from_four_ranks_to_one(self):
        self.stop_and_resume(4, 1)

    def test_from_two_to_eight_with_accumulation(self):
        self.stop_and_resume(2, 8, "learner.accumulation=2", "learner.sharding=none")

    def test_from_eight_to_two_over_mpi(self):
        self.stop_and_resume(8, 2, "runtime.collectives=mpi")

    def test_into_a_new_folder_metrics_start_from_the_history(self):
        self.train("straight")
        file = self.folder / "straight" / "checkpoints" / "round_0000000003.h5"
        self.train("branch", ranks=2, extra=["--resume", file])
        self.assert_same_run("straight", "branch")
        self.assertEqual([line["round"] for line in self.metrics("branch")], [1, 2, 3, 4, 5, 6])

    def test_a_finished_run_has_nothing_to_do(self):
        self.train("run")
        before = self.checkpoints("run")
        again = self.train("run")
        self.assertIn("nothing to do", again.text)
        fewer = self.train("run", "run.rounds=4")
        self.assertNotIn("run length", fewer.text)
        self.assertIn("nothing to do", fewer.text)
        self.assertEqual(self.checkpoints("run"), before)

    def test_a_finished_run_mends_its_metrics(self):
        self.train("run", "run.rounds=2")
        metrics = self.folder / "run" / "metrics.jsonl"
        good = metrics.read_bytes()
        self.train("run", "run.rounds=2", ranks=2)
        self.assertEqual(metrics.read_bytes(), good)
        metrics.write_bytes(good[:-10])
        result = self.train("run", "run.rounds=2", ranks=2)
        self.assertIn("nothing to do", result.text)
        self.assertIn("written anew", result.text)
        self.assertEqual([line["round"] for line in self.metrics("run")], [1, 2])
        # The checkpoint of another run directory has nothing to say about this one's file.
        self.train("other", "run.rounds=3")
        metrics.write_bytes(b"mine")
        result = self.train("run", "run.rounds=2", extra=["--resume", self.folder / "other"])
        self.assertIn("nothing to do", result.text)
        self.assertEqual(metrics.read_bytes(), b"mine")

    def test_a_run_directory_stands_for_its_newest_checkpoint(self):
        self.train("straight")
        self.train("broken", fault="record:0:4:kill", expect=None)
        result = self.train("branch", ranks=2, extra=["--resume", self.folder / "broken"])
        self.assertIn("at round 3", result.text)
        self.assert_same_run("straight", "branch")

    def test_prolonging_tells_the_rule_and_keeps_the_last_value(self):
        self.train("run")
        longer = self.train("run", "run.rounds=8")
        self.assertIn("run length: 6 -> 8 rounds", longer.text)
        rates = [line["learning_rate"] for line in self.metrics("run")]
        self.assertEqual(rates[5:], [rates[5]] * 3)
        self.assertGreater(rates[4], rates[5])

    def test_what_fixes_the_run_may_not_change(self):
        self.train("run", "run.rounds=2")
        for item in ["learner.shards=4", "run.seed=4", "network.hidden=[8, 8]", "environment.count=16", "optimizer.name=sgd"]:
            result = self.train("run", item, expect=None)
            self.assert_refused(result, item.split("=")[0], "checkpoint -> deck")

    def test_other_changes_are_printed(self):
        self.train("run", "run.rounds=2")
        result = self.train("run", "run.rounds=3", "learner.clip_norm=0.25")
        self.assertIn("learner.clip_norm: 0.5 -> 0.25", result.text)


class OffPolicy(ProgramTest):
    """Replay and its three algorithms: ranks, sharding, priorities, leaves, and a stop on the way."""

    def each_algorithm(self):
        for name, deck in OFF_POLICY_DECKS.items():
            with self.subTest(algorithm=name):
                self.deck = self.write("small.toml", deck)
                yield name

    def test_ranks_and_sharding(self):
        for name in self.each_algorithm():
            self.train(f"{name}1", "learner.sharding=none")
            for ranks, sharding in [(2, "none"), (4, "parameters"), (8, "optimizer")]:
                self.train(f"{name}{ranks}", f"learner.sharding={sharding}", ranks=ranks)
                self.assert_same_run(f"{name}1", f"{name}{ranks}")

    def test_priorities_and_two_leaves_a_shard(self):
        sets = ["replay.alpha=0.6", "learner.accumulation=2"]
        for name in self.each_algorithm():
            self.train(f"{name}1", *sets)
            self.train(f"{name}4", *sets, ranks=4)
            self.assert_same_run(f"{name}1", f"{name}4")

    def test_stop_and_resume_on_another_number_of_ranks(self):
        for name in self.each_algorithm():
            # Before the first update; and with an odd number of updates done and rows overwritten.
            for round_killed, first, second, alpha in [(1, 2, 1, 0.6), (5, 1, 4, 0.0)]:
                sets = [f"replay.alpha={alpha}"]
                straight, broken = f"{name}straight{round_killed}", f"{name}broken{round_killed}"
                self.train(straight, *sets, ranks=first)
                fault = f"record:0:{round_killed + 1}:kill"
                self.assertNotEqual(self.train(broken, *sets, ranks=first, fault=fault, expect=None).code, 0)
                self.assertEqual(self.checkpoints(broken)[-1], f"round_{round_killed:010}.h5")
                self.train(broken, *sets, ranks=second)
                self.assert_same_run(straight, broken)

    def test_a_round_without_steps_has_no_losses(self):
        for name in self.each_algorithm():
            self.train(name, ranks=2)
            lines = self.metrics(name)
            self.assertEqual([line["step"] for line in lines], [0, 0, 3, 6, 9, 12])
            self.assertEqual([line["environment_steps"] for line in lines], [48, 96, 144, 192, 240, 288])
            has_loss = [any(key.startswith("loss") for key in line) for line in lines]
            self.assertEqual(has_loss, [False, False, True, True, True, True])

    def test_replay_may_not_change_on_resume(self):
        for name in self.each_algorithm():
            self.train(name, "run.rounds=2")
            self.assert_refused(self.train(name, "replay.capacity=400", expect=None), "replay.capacity: 200 -> 400")


class Sizes(ProgramTest):
    def test_a_network_of_400_layers_saves_and_loads(self):
        layers = "[" + ", ".join(["3"] * 400) + "]"
        sets = [f"network.hidden={layers}", "algorithm.epochs=1", "learner.shards=2"]
        self.train("straight", *sets, "run.rounds=2", ranks=1)
        self.train("resumed", *sets, "run.rounds=2", ranks=2, fault="record:0:2:kill", expect=None)
        self.train("resumed", *sets, "run.rounds=2", ranks=2)
        self.assert_same_run("straight", "resumed")

    def test_a_deck_of_200_kilobytes(self):
        self.deck = self.write("small.toml", self.deck.read_text() + "# a comment\n" * 17000)
        self.train("run", "run.rounds=1")

    def test_a_minibatch_of_one_row_a_shard_stays_finite(self):
        sets = ["learner.shards=1", "environment.count=1", "algorithm.rollout_steps=4", "algorithm.minibatch_size=2"]
        self.train("run", *sets)
        self.assertTrue(all(line["grad_norm"] > 0 for line in self.metrics("run")))
        refused = self.train("one", *sets[:3], "algorithm.minibatch_size=1", expect=None)
        self.assert_refused(refused, "normalize_advantage")


if __name__ == "__main__":
    unittest.main()
