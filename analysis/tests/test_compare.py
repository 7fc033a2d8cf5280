
import numpy as np
import pytest
from lockstep_analysis import dataset as dataset_module
from lockstep_analysis.dataset import slab_ranges
from writer import BFloat16, contents, deck, flip, metrics_line, text, write_checkpoint, write_run


@pytest.fixture
def pair(tmp_path, command):
    """Compares two checkpoints that hold `a` and `b` beside the usual; gives (exit code, lines that tell differences)."""

    def compare(a, b, **options):
        path_a = write_checkpoint(tmp_path / "a.h5", contents(**a), **options.get("a_options", {}))
        path_b = write_checkpoint(tmp_path / "b.h5", contents(**b), **options.get("b_options", {}))
        code, out, err = command("compare", path_a, path_b)
        assert err == ""
        return code, [line for line in out.splitlines() if line.startswith(("differs", "note"))]

    return compare


def float32(*bits):
    return np.array(bits, "<u4").view("<f4")


def test_equal_files(pair):
    assert pair({}, {}) == (0, [])


def test_last_line_says_what_was_compared(tmp_path, command):
    a, b = (write_checkpoint(tmp_path / name) for name in ("a.h5", "b.h5"))
    assert command("compare", a, b)[1].splitlines()[-1] == "equal: 11 datasets"


def test_one_value(pair):
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    y = x.copy()
    y[1, 2], y[2, 3] = 6.5, 11.25
    code, lines = pair({"model/w": x}, {"model/w": y})
    assert code == 1
    assert lines == ["differs  model/w: 2 of 12 values differ, max abs difference 0.5, "
                     "first at [1, 2]: 6.0 (0x40c00000) | 6.5 (0x40d00000)"]


def test_zero_and_minus_zero_differ(pair):
    code, lines = pair({"model/w": np.array([1, 0.0])}, {"model/w": np.array([1, -0.0])})
    assert code == 1
    assert "1 of 2 values differ, max abs difference 0.0, first at [1]: 0.0 (0x0000000000000000) | -0.0 (0x8" in lines[0]


def test_same_nan_is_equal(pair):
    assert pair({"model/w": float32(0x7FC00001)}, {"model/w": float32(0x7FC00001)})[0] == 0


def test_other_nan_differs(pair):
    code, lines = pair({"model/w": float32(0x7FC00001, 0)}, {"model/w": float32(0x7FC00002, 0)})
    assert code == 1
    assert lines == ["differs  model/w: 1 of 2 values differ, no distance (NaN), "
                     "first at [0]: nan (0x7fc00001) | nan (0x7fc00002)"]


def test_signalling_nan_keeps_its_bits(pair):
    assert pair({"model/w": float32(0x7F800001)}, {"model/w": float32(0x7FC00001)})[0] == 1


def test_nan_beside_numbers(pair):
    _, lines = pair({"model/w": np.array([np.nan, 1.0])}, {"model/w": np.array([0.0, 3.0])})
    assert "2 of 2 values differ, max abs difference 2.0, 1 with NaN" in lines[0]


def test_infinities(pair):
    _, lines = pair({"model/w": np.array([np.inf])}, {"model/w": np.array([-np.inf])})
    assert "max abs difference inf" in lines[0]


def test_bfloat16_by_its_bits(pair):
    assert pair({"model/w": BFloat16([0x7FC1])}, {"model/w": BFloat16([0x7FC1])})[0] == 0
    code, lines = pair({"model/w": BFloat16([0x3F80, 0x7FC1])}, {"model/w": BFloat16([0x3FC0, 0x7FC2])})
    assert code == 1
    assert lines == ["differs  model/w: 2 of 2 values differ, max abs difference 0.5, 1 with NaN, "
                     "first at [0]: 1.0 (0x3f80) | 1.5 (0x3fc0)"]


@pytest.mark.parametrize("a, b, distance", [
    (np.int64(-(2**63)), np.int64(2**63 - 1), 2**64 - 1), (np.uint64(2**64 - 1), np.uint64(2**64 - 2), 1),
    (np.int8(-128), np.int8(127), 255), (np.uint8(1), np.uint8(200), 199), (np.bool_(True), np.bool_(False), 1)])
def test_integers_exactly(pair, a, b, distance):
    code, lines = pair({"model/n": np.array(a)}, {"model/n": np.array(b)})
    assert code == 1
    assert lines == [f"differs  model/n: 1 of 1 values differ, max abs difference {distance}, "
                     f"first at []: {a.item()} | {b.item()}"]


@pytest.mark.parametrize("a, b", [(np.float32, np.float64), (np.int32, np.uint32), (np.uint8, np.bool_), (np.int64, np.float64)])
def test_dtype(pair, a, b):
    code, lines = pair({"model/w": np.zeros(3, a)}, {"model/w": np.zeros(3, b)})
    assert code == 1
    assert lines == [f"differs  model/w: dtype {np.dtype(a)} | {np.dtype(b)}"]


def test_half_types_differ(pair):
    code, lines = pair({"model/w": np.zeros(2, np.float16)}, {"model/w": BFloat16([0, 0])})
    assert (code, lines) == (1, ["differs  model/w: dtype float16 | bfloat16"])


@pytest.mark.parametrize("a, b", [((3, 4), (4, 3)), ((12,), (12, 1)), ((), (1,)), ((0, 3), (0, 4))])
def test_shape(pair, a, b):
    code, lines = pair({"model/w": np.zeros(a)}, {"model/w": np.zeros(b)})
    assert (code, lines) == (1, [f"differs  model/w: shape {list(a)} | {list(b)}"])


def test_names(pair):
    code, lines = pair({"model/left": np.zeros(1), "history/x": np.zeros(3)}, {"model/right": np.zeros(1)})
    assert code == 1
    assert lines == ["differs  history/x: only in A", "differs  model/left: only in A", "differs  model/right: only in B"]


@pytest.mark.parametrize("attributes, line", [
    ({"format_version": 1, "round": 4}, "differs  attribute round: 3 | 4"),
    ({"format_version": 1}, "differs  attribute round: 3 | missing"),
    ({"format_version": 2, "round": 3}, "differs  attribute format_version: 1 | 2")])
def test_attributes(pair, attributes, line):
    assert pair({}, {}, b_options={"attributes": attributes}) == (1, [line])


def test_other_attributes_do_not_matter(pair):
    assert pair({}, {}, b_options={"attributes": {"format_version": 1, "round": 3, "written_by": 5}})[0] == 0


def test_storage_layout_does_not_matter(pair):
    x = {"model/w": np.arange(5000, dtype=np.float64).reshape(50, 100)}
    stored = {"model/w": {"chunks": (7, 11), "compression": "gzip", "shuffle": True}}
    assert pair(x, x, b_options={"storage": stored}) == (0, [])


def test_provenance_is_noted_and_not_judged(pair):
    a = {"provenance/host": text("node1"), "provenance/date": text("today"), "provenance/deck": text(deck())}
    b = {"provenance/host": text("node2"), "provenance/ranks": text("4"), "provenance/deck": text(deck(hidden=[8]))}
    code, lines = pair(a, b)
    assert code == 0
    assert lines == ["note     provenance/date: only in A", "note     provenance/deck: line 9: hidden = [] | hidden = [8]",
                     "note     provenance/host: node1 | node2", "note     provenance/ranks: only in B"]


@pytest.mark.parametrize("name, shown", [("{x} %s %d", "{x} %s %d"), ("a%2Fb%25c", "a/b%c"), ("größe λ 重み", "größe λ 重み"),
                                         ("two\nlines\x1b[31m", "two\\nlines\\x1b[31m")])
def test_names_appear_literally_on_one_line(pair, name, shown):
    code, lines = pair({f"model/{name}": np.zeros(1)}, {f"model/{name}": np.ones(1)})
    assert code == 1
    assert len(lines) == 1 and lines[0].startswith(f"differs  model/{shown}: 1 of 1 values differ")


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_any_terminal_encoding(tmp_path, program, encoding):
    a = write_checkpoint(tmp_path / "a.h5", contents(**{"model/λ": np.zeros(1)}))
    b = write_checkpoint(tmp_path / "b.h5")
    result = program("compare", a, b, PYTHONIOENCODING=encoding)
    assert (result.returncode, result.stderr) == (1, b"")
    shown = b"\\u03bb" if encoding == "ascii" else "λ".encode()
    assert b"model/" + shown + b": only in A" in result.stdout


def test_slabs_find_the_first_difference(pair, monkeypatch):
    monkeypatch.setattr(dataset_module.Dataset.slabs, "__defaults__", (7,))
    x = np.arange(2 * 3 * 10, dtype=np.int32).reshape(2, 3, 10)
    y = x.copy()
    y[1, 0, 8] += 3
    y[1, 2, 9] += 5
    code, lines = pair({"model/w": x}, {"model/w": y})
    assert code == 1
    assert lines == ["differs  model/w: 2 of 60 values differ, max abs difference 5, first at [1, 0, 8]: 38 | 41"]


@pytest.mark.parametrize("shape", [(), (0,), (1,), (17,), (5, 4), (3, 2, 11), (4, 0, 2), (2, 1, 1, 9)])
@pytest.mark.parametrize("limit", [1, 3, 8, 1000])
def test_slabs_cover_in_order(shape, limit):
    x = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    slabs = [x[tuple(slice(s, s + c) for s, c in zip(start, count))].ravel() for start, count in slab_ranges(shape, limit)]
    assert all(slab.size <= limit for slab in slabs)
    assert np.concatenate(slabs).tolist() == x.ravel().tolist()


def test_missing_and_damaged_are_2(tmp_path, command):
    good = write_checkpoint(tmp_path / "a.h5")
    code, _, err = command("compare", good, tmp_path / "none.h5")
    assert (code, err) == (2, f"error: {tmp_path / 'none.h5'}: No such file or directory\n")
    bad = write_checkpoint(tmp_path / "b.h5")
    flip(bad, 20)
    code, _, err = command("compare", good, bad)
    assert code == 2 and err.count("\n") == 1
    assert err.startswith(f"error: {bad}: user block, bytes 0-55: do not match")


class TestRuns:
    @pytest.fixture
    def runs(self, tmp_path, command):
        def compare(rows_a, rows_b, *options, datasets=None):
            a, b = write_run(tmp_path / "a", rows_a), write_run(tmp_path / "b", rows_b, datasets)
            code, out, _ = command("compare", a, b, *options)
            return code, out.splitlines()[2:]

        return compare

    def test_timings_are_left_aside(self, runs):
        rows = [metrics_line(i, timings={"round_s": 9.0 + i}) for i in (1, 2, 3)]
        assert runs(None, rows) == (0, ["equal: 11 datasets, 3 lines of metrics.jsonl"])

    def test_value(self, runs):
        rows = [metrics_line(1), metrics_line(2, entropy=0.5), metrics_line(3)]
        assert runs(None, rows) == (1, ["differs  metrics.jsonl line 2: entropy 0.6 | 0.5", "different"])

    def test_values_are_judged_although_the_checkpoints_agree_unless_told(self, runs):
        rows = [metrics_line(1, entropy=0.5)]
        assert runs(None, rows, "--checkpoint-only") == (0, ["equal: 11 datasets"])

    @pytest.mark.parametrize("a, b, line", [
        (0.0, -0.0, "x 0.0 | -0.0"), (1, 1.0, "x 1 | 1.0"), (None, 0, "x None | 0"), (True, 1, "x True | 1"),
        ([1, {"k": 2}], [1, {"k": 3}], "x [1, {'k': 2}] | [1, {'k': 3}]"), (2**70, 2**70 + 1, f"x {2**70} | {2**70 + 1}")])
    def test_equality_is_strict(self, runs, a, b, line):
        code, out = runs([metrics_line(1, x=a)], [metrics_line(1, x=b)])
        assert (code, out[0]) == (1, f"differs  metrics.jsonl line 1: {line}")

    def test_lines_and_keys_of_one_side(self, runs):
        code, out = runs([metrics_line(1, extra=1)], [metrics_line(1), metrics_line(2)])
        assert code == 1
        assert out[:2] == ["differs  metrics.jsonl line 1: extra only in A", "differs  metrics.jsonl line 2: only in B"]

    def test_many_lines_are_counted(self, runs):
        rows = [[metrics_line(i, entropy=e) for i in range(1, 101)] for e in (0.1, 0.2)]
        code, out = runs(*rows)
        assert code == 1 and len(out) == 7
        assert out[5] == "differs  metrics.jsonl: 95 of its other lines"

    @pytest.mark.parametrize("line, reason", [
        (b'{"round": 1, "entropy": NaN}\n', "NaN is not JSON"), (b'{"round": 1, "round": 1}\n', "holds a key twice"),
        (b"[1]\n", "is no JSON object: [1]"), (b'{"round": 1}', "does not end in a newline: it was cut off"),
        (b"\xff\n", "can't decode byte 0xff")])
    def test_broken_line_is_a_difference_even_when_both_have_it(self, tmp_path, command, line, reason):
        a, b = write_run(tmp_path / "a"), write_run(tmp_path / "b")
        for run in (a, b):
            (run / "metrics.jsonl").write_bytes(line)
        code, out, _ = command("compare", a, b)
        assert code == 1
        assert reason in out

    def test_missing_metrics(self, tmp_path, command):
        a, b = write_run(tmp_path / "a"), write_run(tmp_path / "b")
        (b / "metrics.jsonl").unlink()
        code, out, _ = command("compare", a, b)
        assert code == 1 and "differs  metrics.jsonl: only in A" in out
        (a / "metrics.jsonl").unlink()
        assert command("compare", a, b)[0] == 2
        assert command("compare", a, b, "--checkpoint-only")[0] == 0

    def test_run_against_file_compares_checkpoints(self, tmp_path, command):
        run = write_run(tmp_path / "a")
        file = write_checkpoint(tmp_path / "b.h5")
        assert command("compare", run, file)[0] == 0

    def test_checkpoints_are_judged_too(self, runs):
        code, out = runs(None, None, datasets=contents(**{"training/counters/environment_steps": np.array(3073, np.int64)}))
        assert code == 1
        assert out[0] == ("differs  training/counters/environment_steps: 1 of 1 values differ, max abs difference 1, "
                          "first at []: 3072 | 3073")
