"""`play`: the checkpoint's greedy policy in Gymnasium's own environment."""

import gymnasium
import numpy as np

from lockstep_analysis.checkpoint import Checkpoint
from lockstep_analysis.errors import AnalysisError, PlayError
from lockstep_analysis.locate import checkpoint_file
from lockstep_analysis.policy import Policy
from lockstep_analysis.text import one_line


def run(options):
    path = checkpoint_file(options.checkpoint)
    with Checkpoint(path) as checkpoint:
        name = checkpoint.deck().get("environment", {}).get("name")
        if not isinstance(name, str):
            raise AnalysisError(f"{one_line(path)}: the deck names no environment")
        environment = _make(name)
        try:
            policy = Policy.load(checkpoint, _bounds(environment.action_space))
            _check_sizes(policy, environment, path)
            round_number = checkpoint.round
            returns, lengths = play(policy, environment, options.episodes, options.seed)
        finally:
            environment.close()
    print(f"environment {one_line(name)}\nround {round_number}\nepisodes {options.episodes}\nseed {options.seed}")
    print(f"length_mean {float(np.mean(lengths))!r}")
    for key, statistic in (("std", np.std), ("min", np.min), ("max", np.max), ("mean", np.mean)):
        print(f"return_{key} {float(statistic(returns))!r}")
    return 0


def play(policy, environment, episodes, seed):
    """Returns and lengths of `episodes` episodes; episode i starts from Gymnasium's reset(seed=seed + i)."""
    returns, lengths = [], []
    for episode in range(episodes):
        observation, _ = environment.reset(seed=seed + episode)
        total, length, done = 0.0, 0, False
        while not done:
            action = _action(policy, environment.action_space, observation, episode, length)
            observation, reward, terminated, truncated, _ = environment.step(action)
            total, length, done = total + float(reward), length + 1, terminated or truncated
        returns.append(total)
        lengths.append(length)
    return returns, lengths


def _action(policy, space, observation, episode, step):
    try:
        chosen = policy(np.asarray(observation, np.float32).reshape(-1))
    except FloatingPointError as error:
        raise PlayError(f"episode {episode}, step {step}: {error}") from None
    if policy.discrete:
        return int(space.start) + chosen
    return chosen.astype(np.float32).reshape(space.shape)  # the environment clips where it means to


def _bounds(space):
    if isinstance(space, gymnasium.spaces.Discrete):
        return None
    return space.low.reshape(-1), space.high.reshape(-1)


def _make(name):
    try:
        environment = gymnasium.make(name, disable_env_checker=True)
    except (gymnasium.error.Error, ImportError) as error:
        raise AnalysisError(f"Gymnasium makes no environment {one_line(name)!r}: {one_line(error)}") from None
    spaces = (environment.observation_space, environment.action_space)
    if not isinstance(spaces[0], gymnasium.spaces.Box) or not isinstance(
            spaces[1], (gymnasium.spaces.Discrete, gymnasium.spaces.Box)):
        environment.close()
        raise AnalysisError(f"{one_line(name)}: no policy here plays observations {spaces[0]} with actions {spaces[1]}")
    return environment


def _check_sizes(policy, environment, path):
    observations = int(np.prod(environment.observation_space.shape))
    space = environment.action_space
    actions = int(space.n) if policy.discrete else int(np.prod(space.shape))
    if (policy.observation_size, policy.action_size) != (observations, actions):
        raise AnalysisError(f"{one_line(path)}: its policy takes {policy.observation_size} numbers and gives "
                            f"{policy.action_size}, but the environment has {observations} and {actions}")
