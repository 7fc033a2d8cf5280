"""The greedy policy of a checkpoint, with NumPy alone."""

import numpy as np

from lockstep_analysis.errors import AnalysisError, DamagedError
from lockstep_analysis.text import one_line

_ACTIVATIONS = {"tanh": np.tanh, "relu": lambda x: np.maximum(x, 0)}


class Policy:
    """A multilayer perceptron from an observation to the mode of its action distribution."""

    def __init__(self, layers, activation, discrete, log_std="free"):
        self.layers = layers  # [(weight (out, in), bias (out))]
        self.discrete = discrete
        self._activation = _ACTIVATIONS[activation]
        # With log_std "state" the second half of the output is the logarithm of the deviation.
        outputs = layers[-1][1].size
        self.action_size = outputs // 2 if not discrete and log_std == "state" else outputs

    @classmethod
    def load(cls, checkpoint, discrete):
        """Reads and checks actor.<2i>.weight and .bias; the deck gives activation, log_std and the number of layers."""
        network = checkpoint.deck().get("network")
        if not isinstance(network, dict):
            raise AnalysisError(f"{one_line(checkpoint.path)}: the deck has no section [network]")
        activation, log_std, hidden = (network.get(key) for key in ("activation", "log_std", "hidden"))
        if activation not in _ACTIVATIONS or log_std not in ("free", "state") or not isinstance(hidden, list):
            raise AnalysisError(f"{one_line(checkpoint.path)}: this package plays no network with activation "
                                f"{activation!r}, log_std {log_std!r}, hidden {hidden!r}")
        layers = [_layer(checkpoint, 2 * i) for i in range(len(hidden) + 1)]
        widths = [weight.shape[0] for weight, _ in layers[:-1]]
        inputs = [weight.shape[1] for weight, _ in layers[1:]]
        if widths != hidden or inputs != hidden:
            raise DamagedError(f"{one_line(checkpoint.path)}: layers of {widths} outputs into {inputs} inputs, "
                               f"but the deck's network.hidden is {hidden}")
        return cls(layers, activation, discrete, log_std)

    @property
    def observation_size(self):
        return self.layers[0][0].shape[1]

    def __call__(self, observation):
        """The action for one flat observation: an index (the lowest of equal logits) or the normal's mean."""
        x = observation
        for weight, bias in self.layers[:-1]:
            x = self._activation(weight @ x + bias)
        weight, bias = self.layers[-1]
        outputs = weight @ x + bias
        if not np.isfinite(outputs).all():
            raise FloatingPointError("the policy's outputs are not finite")
        return int(np.argmax(outputs)) if self.discrete else outputs[: self.action_size]


def _layer(checkpoint, number):
    weight = checkpoint.dataset(f"/model/actor.{number}.weight")
    bias = checkpoint.dataset(f"/model/actor.{number}.bias")
    for dataset in (weight, bias):
        if not dataset.type.floating:
            raise DamagedError(f"{one_line(dataset.name)}: {dataset.type.name} is no type of a weight")
        dataset.check_hash()
    if len(weight.shape) != 2 or bias.shape != weight.shape[:1]:
        raise DamagedError(f"model/actor.{number}: weight {list(weight.shape)} and bias {list(bias.shape)} "
                           "make no layer")
    precision = np.float64 if weight.type.name == "float64" else np.float32
    return weight.values().astype(precision), bias.values().astype(precision)
