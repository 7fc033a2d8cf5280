"""The greedy policy of a checkpoint, with NumPy alone."""

import numpy as np

from lockstep_analysis.errors import AnalysisError, DamagedError
from lockstep_analysis.text import one_line

_ACTIVATIONS = {"tanh": np.tanh, "relu": lambda x: np.maximum(x, 0)}


# The network that acts in a checkpoint of each algorithm.
_NETWORKS = {"ppo": "actor", "dqn": "q", "sac": "actor", "td3": "actor"}


class Policy:
    """A multilayer perceptron from an observation to the greedy action: the mode of the action's distribution, the
    action of the largest value (dqn), or a tanh scaled to the action's bounds (sac, td3)."""

    def __init__(self, layers, activation, bounds, algorithm="ppo", log_std="free"):
        self.layers = layers  # [(weight (out, in), bias (out))]
        self.discrete = bounds is None
        self._activation = _ACTIVATIONS[activation]
        self._bounds = bounds if algorithm in ("sac", "td3") else None
        # A deviation that depends on the observation is the second half of the output.
        outputs = layers[-1][1].size
        halved = algorithm == "sac" or (algorithm == "ppo" and log_std == "state")
        self.action_size = outputs // 2 if halved and not self.discrete else outputs

    @classmethod
    def load(cls, checkpoint, bounds):
        """Reads and checks the weights and biases of the layers; the deck gives the algorithm, activation, log_std and
        the number of layers. `bounds`: (low, high) of a continuous action, flat; None for a discrete one."""
        deck = checkpoint.deck()
        network, algorithm = deck.get("network"), deck.get("algorithm")
        if not isinstance(network, dict):
            raise AnalysisError(f"{one_line(checkpoint.path)}: the deck has no section [network]")
        name = algorithm.get("name") if isinstance(algorithm, dict) else None
        if name not in _NETWORKS:
            raise AnalysisError(f"{one_line(checkpoint.path)}: this package plays no policy of the algorithm {name!r}")
        if name != "ppo" and (name == "dqn") != (bounds is None):
            raise AnalysisError(f"{one_line(checkpoint.path)}: a policy of {name} has no "
                                f"{'discrete' if bounds is None else 'continuous'} actions")
        activation, hidden = network.get("activation"), network.get("hidden")
        log_std = network.get("log_std", "free")
        if activation not in _ACTIVATIONS or log_std not in ("free", "state") or not isinstance(hidden, list):
            raise AnalysisError(f"{one_line(checkpoint.path)}: this package plays no network with activation "
                                f"{activation!r}, log_std {log_std!r}, hidden {hidden!r}")
        layers = [_layer(checkpoint, f"{_NETWORKS[name]}.{2 * i}") for i in range(len(hidden) + 1)]
        widths = [weight.shape[0] for weight, _ in layers[:-1]]
        inputs = [weight.shape[1] for weight, _ in layers[1:]]
        if widths != hidden or inputs != hidden:
            raise DamagedError(f"{one_line(checkpoint.path)}: layers of {widths} outputs into {inputs} inputs, "
                               f"but the deck's network.hidden is {hidden}")
        return cls(layers, activation, bounds, name, log_std)

    @property
    def observation_size(self):
        return self.layers[0][0].shape[1]

    def __call__(self, observation):
        """The action for one flat observation: an index (the lowest of equal outputs) or a flat vector."""
        x = observation
        for weight, bias in self.layers[:-1]:
            x = self._activation(weight @ x + bias)
        weight, bias = self.layers[-1]
        outputs = weight @ x + bias
        if not np.isfinite(outputs).all():
            raise FloatingPointError("the policy's outputs are not finite")
        if self.discrete:
            return int(np.argmax(outputs))
        action = outputs[: self.action_size]
        if self._bounds is None:
            return action
        low, high = self._bounds
        return (high + low) / 2 + (high - low) / 2 * np.tanh(action)


def _layer(checkpoint, name):
    weight = checkpoint.dataset(f"/model/{name}.weight")
    bias = checkpoint.dataset(f"/model/{name}.bias")
    for dataset in (weight, bias):
        if not dataset.type.floating:
            raise DamagedError(f"{one_line(dataset.name)}: {dataset.type.name} is no type of a weight")
        dataset.check_hash()
    if len(weight.shape) != 2 or bias.shape != weight.shape[:1]:
        raise DamagedError(f"model/{name}: weight {list(weight.shape)} and bias {list(bias.shape)} "
                           "make no layer")
    precision = np.float64 if weight.type.name == "float64" else np.float32
    return weight.values().astype(precision), bias.values().astype(precision)
