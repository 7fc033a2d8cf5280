import os
from pathlib import Path

import numpy as np
import pytest
from lockstep_analysis.checkpoint import Checkpoint
from lockstep_analysis.errors import AnalysisError
from lockstep_analysis.policy import Policy
from writer import BFloat16, contents, deck, flip, text, write_checkpoint


def values(out):
    return dict(line.split(" ", 1) for line in out.splitlines())


def write_policy(path, layers, network="actor", **deck_options):
    datasets = {name: value for name, value in contents().items() if not name.startswith("model/actor")}
    for i, (weight, bias) in enumerate(layers):
        datasets[f"model/{network}.{2 * i}.weight"] = (
            weight if isinstance(weight, BFloat16) else np.array(weight, np.float32))
        datasets[f"model/{network}.{2 * i}.bias"] = np.array(bias, np.float32)
    hidden = [len(bias) for _, bias in layers[:-1]]
    datasets["provenance/deck"] = text(deck(**{"hidden": hidden, **deck_options}))
    return write_checkpoint(path, datasets)


def test_balancing_policy(tmp_path, command):
    path = write_checkpoint(tmp_path / "a.h5")
    code, out, err = command("play", path, "--episodes", "20", "--seed", "5")
    assert (code, err) == (0, "")
    found = values(out)
    assert found["environment"] == "CartPole-v1" and found["round"] == "3"
    assert found["episodes"] == "20" and found["seed"] == "5"
    assert float(found["return_mean"]) > 450
    assert out.splitlines()[-1] == f"return_mean {found['return_mean']}"
    assert found["length_mean"] == found["return_mean"]  # a reward of 1 a step


def test_ties_take_the_lowest_action(tmp_path, command):
    """Always pushing left lets the pole fall within 8 to 10 steps."""
    path = write_policy(tmp_path / "a.h5", [(np.zeros((2, 4)), [0, 0])])
    found = values(command("play", path, "--episodes", "30")[1])
    assert 8 <= float(found["return_min"]) and float(found["return_max"]) <= 11


def test_same_seed_same_numbers_and_episode_i_has_seed_plus_i(tmp_path, command):
    path = write_policy(tmp_path / "a.h5", [(np.zeros((2, 4)), [0, 1])])
    played = [command("play", path, "--episodes", "4", "--seed", "3")[1] for _ in range(2)]
    assert played[0] == played[1]
    single = [float(values(command("play", path, "--episodes", "1", "--seed", str(3 + i))[1])["return_mean"]) for i in range(4)]
    assert float(values(played[0])["return_mean"]) == np.mean(single)


BOUNDS = np.array([-2, 0], np.float32), np.array([2, 10], np.float32)


def load(path, bounds=None):
    with Checkpoint(path) as checkpoint:
        return Policy.load(checkpoint, bounds)


@pytest.mark.parametrize("activation, function", [("tanh", np.tanh), ("relu", lambda x: np.maximum(x, 0))])
def test_hidden_layers(tmp_path, activation, function):
    random = np.random.default_rng(0)
    layers = [(random.normal(size=(out, size)), random.normal(size=out)) for size, out in ((3, 5), (5, 4), (4, 1))]
    path = write_policy(tmp_path / "a.h5", layers, activation=activation, environment="Pendulum-v1")
    observation = np.array([0.5, -1.5, 2.0], np.float32)
    expected = observation
    for weight, bias in layers[:-1]:
        expected = function(weight @ expected + bias)
    expected = layers[-1][0] @ expected + layers[-1][1]
    assert load(path, BOUNDS)(observation) == pytest.approx(expected, rel=1e-5)


def test_state_dependent_deviation_plays_the_first_half(tmp_path):
    path = write_policy(tmp_path / "a.h5", [(np.zeros((4, 3)), [1, 2, 3, 4])], log_std="state")
    policy = load(path, BOUNDS)
    assert policy.action_size == 2
    assert policy(np.zeros(3, np.float32)).tolist() == [1, 2]


def test_dqn_takes_the_action_of_the_largest_value(tmp_path):
    layers = [(np.eye(2), [0, 0.5])]
    path = write_policy(tmp_path / "a.h5", layers, network="q", algorithm="dqn", log_std=None)
    policy = load(path)
    assert [policy(np.array(x, np.float32)) for x in ([1, 0], [0, 0], [0.5, 0], [-1, -2])] == [0, 1, 0, 0]


def test_sac_plays_the_tanh_of_the_mean_within_the_bounds(tmp_path):
    path = write_policy(tmp_path / "a.h5", [(np.zeros((4, 3)), [0.5, -1, 9, 9])], algorithm="sac", log_std=None)
    action = load(path, BOUNDS)(np.zeros(3, np.float32))
    assert action == pytest.approx([2 * np.tanh(0.5), 5 + 5 * np.tanh(-1)], rel=1e-6)


def test_td3_plays_tanh_within_the_bounds(tmp_path):
    path = write_policy(tmp_path / "a.h5", [(np.zeros((2, 3)), [30, 0])], algorithm="td3", log_std=None)
    assert load(path, BOUNDS)(np.zeros(3, np.float32)).tolist() == [2, 5]


@pytest.mark.parametrize("algorithm, bounds, kind", [
    ("dqn", BOUNDS, "continuous"), ("sac", None, "discrete"), ("td3", None, "discrete")])
def test_actions_that_the_algorithm_does_not_have_are_refused(tmp_path, algorithm, bounds, kind):
    path = write_policy(tmp_path / "a.h5", [(np.zeros((2, 3)), [0, 0])], algorithm=algorithm, log_std=None)
    with pytest.raises(AnalysisError, match=f"a policy of {algorithm} has no {kind} actions"):
        load(path, bounds)


def test_continuous_environment(tmp_path, command):
    """A torque of 0 leaves the pendulum hanging: returns near -1200 on average, never above 0."""
    path = write_policy(tmp_path / "a.h5", [(np.zeros((1, 3)), [0])], environment="Pendulum-v1")
    code, out, err = command("play", path, "--episodes", "5")
    assert (code, err) == (0, "")
    assert -2000 < float(values(out)["return_mean"]) < -500
    assert float(values(out)["length_mean"]) == 200


def test_bfloat16_weights(tmp_path):
    path = write_policy(tmp_path / "a.h5", [(BFloat16([[0x3F80, 0xC000]]), [0.5])])
    assert load(path, BOUNDS)(np.array([3, 1], np.float32)).tolist() == [1.5]


def test_outputs_that_are_not_finite_fail(tmp_path, command):
    path = write_policy(tmp_path / "a.h5", [(np.full((2, 4), np.nan), [0, 0])])
    code, _, err = command("play", path)
    assert (code, err) == (1, "error: episode 0, step 0: the policy's outputs are not finite\n")


@pytest.mark.parametrize("layers, options, reason", [
    ([(np.zeros((3, 4)), [0, 0, 0])], {}, "takes 4 numbers and gives 3, but the environment has 4 and 2"),
    ([(np.zeros((2, 3)), [0, 0])], {}, "takes 3 numbers and gives 2, but the environment has 4 and 2"),
    ([(np.zeros((2, 4)), [0, 0])], {"hidden": [8]}, "holds no model/actor.2.weight"),
    ([(np.zeros((3, 4)), [0] * 3), (np.zeros((2, 3)), [0] * 2)], {"hidden": [5]}, "but the deck's network.hidden is [5]"),
    ([(np.zeros((2, 4)), [0, 0])], {"activation": "gelu"}, "plays no network with activation 'gelu'"),
    ([(np.zeros((2, 4)), [0, 0])], {"algorithm": "reinforce"}, "plays no policy of the algorithm 'reinforce'"),
    ([(np.zeros((2, 4)), [0, 0, 0])], {}, "make no layer"),
    ([(np.zeros((2, 4)), [0, 0])], {"environment": "Nowhere-v7"}, "Gymnasium makes no environment 'Nowhere-v7'"),
    ([(np.zeros((2, 4)), [0, 0])], {"environment": "Blackjack-v1"}, "no policy here plays observations")])
def test_what_cannot_be_played_is_refused(tmp_path, command, layers, options, reason):
    path = write_policy(tmp_path / "a.h5", layers, **options)
    code, out, err = command("play", path)
    assert (code, out) == (2, "")
    assert reason in err and err.startswith("error: ") and err.count("\n") == 1


def test_damaged_weights_are_not_played(tmp_path, command):
    path = write_checkpoint(tmp_path / "a.h5")
    with Checkpoint(path) as checkpoint:
        offset = checkpoint.dataset("/model/actor.0.weight")._dataset.id.get_offset()
    flip(path, offset)
    code, out, err = command("play", path)
    assert (code, out) == (2, "")
    assert "model/actor.0.weight" in err and "hash" in err


@pytest.mark.parametrize("options", [["--episodes", "0"], ["--seed", "-1"], ["--episodes", "x"], []])
def test_command_line_errors_are_2(program, tmp_path, options):
    arguments = [tmp_path, *options] if options else []
    assert program("play", *arguments).returncode == 2


def test_needs_no_torch(program, tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('torch was imported')")
    path = write_checkpoint(tmp_path / "a.h5")
    paths = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[1])])
    assert program("play", path, "--episodes", "1", PYTHONPATH=paths).returncode == 0
