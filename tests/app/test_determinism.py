"""The same bits on any number of ranks, and after any stop and resume on another."""

import unittest

from program import ProgramTest


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
