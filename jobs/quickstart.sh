#!/usr/bin/env bash
# From nothing to a trained policy: installs what is missing, builds, trains PPO on CartPole-v1 on two MPI ranks until
# it is solved, evaluates it over 100 episodes and draws its learning curve. The last line is the drawing's path.
# Run again, it finds the training done, evaluates and draws.
set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

deck=inputs/cartpole_ppo.toml
run=runs/cartpole_ppo
lockstep=build/release/lockstep

bash jobs/setup.sh
say "Building lockstep; the first time takes some minutes"
build release --target lockstep

allow_any_launch
say "Training: mpirun -n 2 $lockstep train $deck"
show_step train mpirun -n 2 "$lockstep" train "$deck" --output "$run"

checkpoint=$run/checkpoints/$(<"$run/checkpoints/latest")
say "Evaluating: $lockstep evaluate $checkpoint --episodes 100"
show_step evaluate "$lockstep" evaluate "$checkpoint" --episodes 100

say "Drawing the learning curve"
run_step plot "$LOCKSTEP_PYTHON" -m lockstep_analysis plot "$run" --output "$run/curves.png"
printf '%s\n' "$LOCKSTEP_ROOT/$run/curves.png"
