"""The decks reach what they promise, on 2 ranks, judged by the program and by Gymnasium's own environment.

The off-policy decks take minutes a seed: one each, and all three with LOCKSTEP_ALL_SEEDS=1.
"""

import os
import unittest

from program import ProgramTest, ROOT


OFF_POLICY_SEEDS = (0, 1, 2) if os.environ.get("LOCKSTEP_ALL_SEEDS") == "1" else (0,)


def value(text, key):
    """The number of a `key value` line."""
    return next(float(line.split()[1]) for line in text.splitlines() if line.startswith(f"{key} "))


class Solves(ProgramTest):
    def train_deck(self, name, seed):
        run = self.folder / f"{name}-{seed}"
        deck = ROOT / "inputs" / f"{name}.toml"
        result = self.run_program("train", deck, "--output", run, "--set", f"run.seed={seed}", ranks=2, timeout=600)
        self.assertEqual(result.code, 0, result.text)
        return run

    def check(self, name, seeds, bar):
        for seed in seeds:
            with self.subTest(deck=name, seed=seed):
                run = self.train_deck(name, seed)
                greedy = self.run_program("evaluate", run, "--episodes", "100")
                self.assertGreaterEqual(value(greedy.out, "return_mean"), bar, greedy.text)
                played = self.analysis("play", run, "--episodes", "100")
                self.assertGreaterEqual(value(played.out, "return_mean"), bar, played.text)

    def test_cartpole_ppo(self):
        self.check("cartpole_ppo", (0, 1, 2), 475)

    def test_pendulum_ppo(self):
        self.check("pendulum_ppo", (0,), -300)

    def test_cartpole_dqn(self):
        self.check("cartpole_dqn", OFF_POLICY_SEEDS, 475)

    def test_pendulum_sac(self):
        self.check("pendulum_sac", OFF_POLICY_SEEDS, -200)

    def test_pendulum_td3(self):
        self.check("pendulum_td3", OFF_POLICY_SEEDS, -200)


if __name__ == "__main__":
    unittest.main()
