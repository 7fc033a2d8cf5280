"""The decks reach what they promise, on 2 ranks, judged by the program and by Gymnasium's own environment."""

import unittest

from program import ProgramTest, ROOT


def value(text, key):
    """The number of a `key value` line."""
    return next(float(line.split()[1]) for line in text.splitlines() if line.startswith(f"{key} "))


class Solves(ProgramTest):
    def train_deck(self, name, seed):
        run = self.folder / f"{name}-{seed}"
        deck = ROOT / "inputs" / f"{name}.toml"
        result = self.run_program("train", deck, "--output", run, "--set", f"run.seed={seed}", ranks=2, timeout=300)
        self.assertEqual(result.code, 0, result.text)
        return run

    def test_cartpole_on_three_seeds(self):
        for seed in (0, 1, 2):
            with self.subTest(seed=seed):
                run = self.train_deck("cartpole_ppo", seed)
                greedy = self.run_program("evaluate", run, "--episodes", "100")
                self.assertGreaterEqual(value(greedy.out, "return_mean"), 475, greedy.text)
                played = self.analysis("play", run, "--episodes", "100")
                self.assertGreaterEqual(value(played.out, "return_mean"), 475, played.text)

    def test_pendulum(self):
        run = self.train_deck("pendulum_ppo", 0)
        greedy = self.run_program("evaluate", run, "--episodes", "100")
        self.assertGreater(value(greedy.out, "return_mean"), -300, greedy.text)
        played = self.analysis("play", run, "--episodes", "100")
        self.assertGreater(value(played.out, "return_mean"), -300, played.text)


if __name__ == "__main__":
    unittest.main()
