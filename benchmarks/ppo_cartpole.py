"""PPO on CartPole-v1, Stable-Baselines3 against Lockstep on 2 ranks: same settings, same number of steps, timed in turn in one run.

Needs: pip install stable-baselines3 (into .venv). Run: .venv/bin/python benchmarks/ppo_cartpole.py [--pairs 15] [--steps 25600]

Both sides time their training loop alone (no interpreter, launcher or library start, no evaluation). Stable-Baselines3 gets the
better of one and two threads. Prints one line a figure: the median of the paired ratios and their 10-90 % range.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PEER = """
import sys, time, torch
torch.set_num_threads(int(sys.argv[1]))
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
steps = int(sys.argv[2])
env = make_vec_env("CartPole-v1", n_envs=8, seed=0)
model = PPO("MlpPolicy", env, n_steps=32, batch_size=256, gae_lambda=0.8, gamma=0.98, n_epochs=20, ent_coef=0.0,
            learning_rate=lambda left: left * 1e-3, clip_range=lambda left: left * 0.2, seed=0, device="cpu")
started = time.perf_counter()
model.learn(steps)
print(time.perf_counter() - started)
"""


def peer_seconds(threads, steps):
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads))
    done = subprocess.run([sys.executable, "-c", PEER, str(threads), str(steps)], capture_output=True, text=True, env=environment, check=True)
    return float(done.stdout.split()[-1])


def our_seconds(executable, ranks, steps):
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    if os.geteuid() == 0:
        environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    with tempfile.TemporaryDirectory() as folder:
        command = ["mpirun", "-n", str(ranks), str(executable), "train", str(ROOT / "inputs" / "cartpole_ppo.toml"), "--output", f"{folder}/run"]
        for item in (f"run.environment_steps={steps}", "evaluation.episodes=1", "checkpoint.every=1000000"):
            command += ["--set", item]
        subprocess.run(command, capture_output=True, env=environment, check=True)
        lines = [json.loads(line) for line in pathlib.Path(folder, "run", "metrics.jsonl").read_text().splitlines()]
    return sum(line["timings"]["collect_s"] + line["timings"]["update_s"] for line in lines)


def verdict(ratios, bar):
    ordered = sorted(ratios)
    low, high = ordered[round(0.1 * (len(ordered) - 1))], ordered[round(0.9 * (len(ordered) - 1))]
    median = statistics.median(ordered)
    word = "holds" if median >= bar else "missed"
    return median, low, high, word + (", not decided" if low < bar < high else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--steps", type=int, default=25600)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--executable", type=pathlib.Path, default=ROOT / "build" / "release" / "lockstep")
    options = parser.parse_args()

    threads = min((1, 2), key=lambda n: peer_seconds(n, options.steps // 4))
    our_seconds(options.executable, options.ranks, options.steps // 4)
    peers, ours = [], []
    for pair in range(options.pairs):
        peers.append(peer_seconds(threads, options.steps))
        ours.append(our_seconds(options.executable, options.ranks, options.steps))
        print(f"pair {pair + 1}/{options.pairs}: {peers[-1]:.2f} s / {ours[-1]:.2f} s = {peers[-1] / ours[-1]:.2f}", file=sys.stderr)
    ratios = [p / o for p, o in zip(peers, ours)]
    for bar in (6, 10):
        median, low, high, word = verdict(ratios, bar)
        print(f"Stable-Baselines3 ({threads} thread) / Lockstep ({options.ranks} ranks), {options.steps} steps: "
              f"{median:.2f}  [{low:.2f}, {high:.2f}]  bar >= {bar}  {word}")
    print(f"seconds: {statistics.median(peers):.2f} / {statistics.median(ours):.2f}")


if __name__ == "__main__":
    main()
