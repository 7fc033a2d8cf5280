import os

import matplotlib.image
import numpy as np
import pytest
from lockstep_analysis import curves, figure
from writer import contents, metrics_line, write_checkpoint, write_run

WIDTH, HEIGHT = 1650, 930


def ink(path):
    """The share of pixels that are not white, of a picture of the expected size."""
    pixels = matplotlib.image.imread(path)
    assert pixels.shape[:2] == (HEIGHT, WIDTH)
    return float((pixels[:, :, :3] < 0.99).any(axis=2).mean())


def has_colour(path, colour):
    pixels = (matplotlib.image.imread(path)[:, :, :3] * 255).round().astype(int)
    wanted = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return int((np.abs(pixels - wanted).max(axis=2) <= 3).sum())


def test_run_directory(tmp_path, command):
    run = write_run(tmp_path / "run", [metrics_line(i) for i in range(1, 90)])
    code, out, err = command("plot", run)
    assert (code, err) == (0, "")
    assert out.splitlines() == ["run: 89 rounds, 91,136 environment steps", str(run / "curves.png")]
    assert 0.02 < ink(run / "curves.png") < 0.5
    assert sorted(p.name for p in run.iterdir()) == ["checkpoints", "curves.png", "deck.toml", "metrics.jsonl"]


def test_checkpoint_history(tmp_path, command):
    path = write_checkpoint(tmp_path / "a.h5")
    code, out, _ = command("plot", path)
    assert code == 0
    assert out.splitlines()[-1] == str(tmp_path / "a.png")
    assert ink(tmp_path / "a.png") > 0.02


def test_run_without_metrics_draws_its_checkpoints_history(tmp_path):
    run = write_run(tmp_path / "run")
    (run / "metrics.jsonl").unlink()
    loaded = curves.load(run)
    assert loaded.columns["return_mean"][1:].tolist() == [21.5, 40.0] and np.isnan(loaded.columns["return_mean"][0])
    assert (loaded.title, loaded.rate) == ("CartPole-v1, ppo", None)


def test_several_runs_have_a_colour_each(tmp_path, command):
    runs = [write_run(tmp_path / name / "run", [metrics_line(i, return_mean=k * 10.0 + i) for i in range(1, 6)])
            for k, name in enumerate(("one", "two"))]
    code, out, _ = command("plot", *runs, "-o", tmp_path / "both.png")
    assert code == 0
    assert out.splitlines()[-1] == str(tmp_path / "both.png")
    assert [line.split(": ")[0] for line in out.splitlines()[:-1]] == [str(run) for run in runs]
    assert has_colour(tmp_path / "both.png", "#0072b2") > 200 and has_colour(tmp_path / "both.png", "#d55e00") > 200


def test_columns_and_rates_are_the_lines(tmp_path):
    rows = [metrics_line(1, return_mean=None), metrics_line(2, evaluation_return_mean=99.0), metrics_line(3)]
    loaded = curves.load(write_run(tmp_path / "run", rows))
    assert loaded.columns["environment_steps"].tolist() == [1024, 2048, 3072]
    assert np.isnan(loaded.columns["return_mean"][0]) and loaded.columns["return_mean"][1:].tolist() == [20, 30]
    assert np.isnan(loaded.columns["evaluation_return_mean"]).tolist() == [True, False, True]
    assert loaded.rate.tolist() == [2001, 2002, 2003]
    assert loaded.losses() == ["loss_critic", "loss_objective"]


def lines_of(axis):
    return [line for line in axis.get_lines() if len(line.get_xdata())]


def test_what_is_drawn(tmp_path):
    rows = [metrics_line(i, **({"evaluation_return_mean": 50.0 * i} if i == 2 else {})) for i in (1, 2, 3)]
    drawn = figure.draw([curves.load(write_run(tmp_path / "run", rows))])
    by_title = {axis.get_title(loc="left"): axis for axis in drawn.axes}
    training, evaluation = lines_of(by_title["Learning curve"])
    assert training.get_ydata().tolist() == [10, 20, 30] and training.get_xdata().tolist() == [1024, 2048, 3072]
    assert (evaluation.get_xdata().tolist(), evaluation.get_ydata().tolist()) == ([2048], [100])
    assert lines_of(by_title["Throughput"])[0].get_ydata().tolist() == [2001, 2002, 2003]
    assert lines_of(by_title["Policy entropy"])[0].get_ydata().tolist() == [0.6, 0.6, 0.6]
    assert len(lines_of(by_title["Losses"])) == 2
    assert drawn.get_suptitle() == "run | CartPole-v1, ppo"
    assert all(axis.get_xlabel() == "environment steps" and axis.get_ylabel() for axis in drawn.axes)


def test_running_mean_skips_missing_values():
    values = np.array([np.nan, 2.0, 4.0, np.nan, np.nan, 6.0])
    mean = figure._running_mean(values, 2)
    assert np.isnan(mean[[0, 4]]).all() and mean[[1, 2, 3, 5]].tolist() == [2, 3, 4, 6]


@pytest.mark.parametrize("name", ["_hidden", "a $x_1$ b", "{0} %s", "two\nlines", "重み", "x" * 200])
def test_names_are_drawn_literally(tmp_path, command, name):
    run = write_run(tmp_path / name)
    code, out, err = command("plot", run, write_run(tmp_path / "other"))
    assert (code, err) == (0, "")
    assert out.endswith(f"{run}/curves.png\n")
    assert ink(run / "curves.png") > 0.02


def test_path_of_any_bytes_is_printed_as_it_is(tmp_path, program):
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    run = write_run(tmp_path / os.fsdecode(b"caf\xe9"))
    result = program("plot", run, PYTHONIOENCODING="ascii", MPLBACKEND="agg", DISPLAY="")
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1] == folder + b"/curves.png"


@pytest.mark.parametrize("rows, reason", [
    ([], "holds no round"),
    ([{"round": 1, "environment_steps": 10}], "line 1: return_mean is missing"),
    ([metrics_line(1), metrics_line(1)], "environment_steps does not grow at entry 2"),
    ([metrics_line(1, environment_steps=None)], "environment_steps does not grow at entry 1"),
    ([metrics_line(1, entropy="high")], "line 1: entropy is no number"),
    ([metrics_line(1, entropy=float("nan"))], "line 1: NaN is not JSON")])
def test_missing_data_is_refused(tmp_path, command, rows, reason):
    run = write_run(tmp_path / "run", rows)
    code, out, err = command("plot", run)
    assert (code, out) == (2, "")
    assert reason in err and err.count("\n") == 1
    assert not (run / "curves.png").exists()


def test_gaps_are_told(tmp_path, command):
    """A metric that was not finite is left out of its line: the curve has a hole there, and the output says so."""
    rows = [metrics_line(1, return_mean=None), metrics_line(2, loss_critic=None), metrics_line(3), metrics_line(4)]
    del rows[2]["loss_critic"], rows[3]["entropy"], rows[0]["timings"]
    run = write_run(tmp_path / "run", rows)
    code, out, _ = command("plot", run)
    assert code == 0
    assert out.splitlines()[1:3] == ["note: run: entropy has no value in 1 round",
                                     "note: run: loss_critic has no value in 2 rounds"]
    loaded = curves.load(run)
    assert np.isnan(loaded.columns["loss_critic"]).tolist() == [False, True, True, False]
    assert np.isnan(loaded.rate).tolist() == [True, False, False, False]


def test_rate_before_the_first_measurement_is_not_drawn(tmp_path):
    rows = [metrics_line(i, timings={"environment_steps_per_s": rate}) for i, rate in ((1, 0), (2, 50.5))]
    rate = curves.load(write_run(tmp_path / "run", rows)).rate
    assert np.isnan(rate[0]) and rate[1] == 50.5


def test_history_of_unequal_lengths_is_refused(tmp_path, command):
    path = write_checkpoint(tmp_path / "a.h5", contents(**{"history/entropy": np.zeros(2)}))
    code, _, err = command("plot", path)
    assert code == 2 and "different lengths" in err


def test_no_episode_yet_is_said(tmp_path):
    run = write_run(tmp_path / "run", [metrics_line(1, return_mean=None)])
    drawn = figure.draw([curves.load(run)])
    assert "no episode has ended" in [text.get_text() for text in drawn.axes[0].texts]


def test_output_is_checked(tmp_path, command):
    run = write_run(tmp_path / "run")
    assert command("plot", run, "-o", tmp_path / "a.pdf")[0] == 2
    assert command("plot", run, "-o", tmp_path / "none" / "a.png")[2] == f"error: {tmp_path / 'none'}: no such folder\n"
    assert command("plot", tmp_path / "missing")[2] == f"error: {tmp_path / 'missing'}: No such file or directory\n"
