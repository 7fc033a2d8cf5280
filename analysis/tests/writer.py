"""Writes checkpoints and run directories by the text of docs/checkpoint.md, apart from the trainer and the package."""

import json
import struct

import h5py
import numpy as np
import xxhash


class BFloat16:
    """Raw bits to be stored as bfloat16."""

    def __init__(self, bits):
        self.bits = np.array(bits, "<u2")


def bfloat16_type():
    custom = h5py.h5t.IEEE_F32LE.copy()
    custom.set_fields(15, 7, 8, 0, 7)
    custom.set_size(2)
    custom.set_ebias(127)
    return custom


def text(content):
    return np.frombuffer(content.encode("utf-8", "surrogateescape"), np.uint8)


def deck(environment="CartPole-v1", hidden=(), activation="tanh", log_std="free", algorithm="ppo"):
    """`log_std` None: the key is not there."""
    log_std_line = "" if log_std is None else f'log_std = "{log_std}"\n'
    return f"""[run]
seed = 7
rounds = 3

[algorithm]
name = "{algorithm}"

[network]
hidden = {list(hidden)}
activation = "{activation}"
{log_std_line}
[environment]
name = "{environment}"
count = 8
"""


def balancing_policy():
    """CartPole: push to the side that the pole falls to."""
    weight = np.array([[0, 0, -1, -1], [0.01, 0.1, 1, 1]], np.float32)
    return {"model/actor.0.weight": weight, "model/actor.0.bias": np.zeros(2, np.float32)}


def contents(**changes):
    """Datasets of a small but whole checkpoint, by path; `changes` with '/' in their keys go in by `|`."""
    return {
        **balancing_policy(),
        "model/critic.0.weight": np.array([[0.5, -0.25, 0.0, 2.0]], np.float32),
        "training/optimizer/actor.0.bias/exp_avg": np.array([0.0, 1e-3], np.float32),
        "training/optimizer/actor.0.bias/step": np.array(12, np.float32),
        "training/environment/state": np.arange(32, dtype=np.float64).reshape(8, 4),
        "training/counters/environment_steps": np.array(3072, np.int64),
        "training/counters/finished": np.array([True, False]),
        "history/environment_steps": np.array([1024.0, 2048.0, 3072.0]),
        "history/return_mean": np.array([np.nan, 21.5, 40.0]),
        "history/loss_critic": np.array([3.0, 2.0, 1.0]),
        "provenance/deck": text(deck()),
        "provenance/host": text("node1"),
        **changes,
    }


def write_checkpoint(path, datasets=None, attributes=None, storage=None, sealed=True):
    """`storage` gives h5py's creation options by path, `attributes` those of the root."""
    datasets = contents() if datasets is None else datasets
    with h5py.File(path, "w", userblock_size=512, libver=("v110", "v110")) as file:
        for name, value in (attributes if attributes is not None else {"format_version": 1, "round": 3}).items():
            file.attrs.create(name, value, dtype="<i8")
        for name, value in datasets.items():
            raw = value.bits if isinstance(value, BFloat16) else np.asarray(value)
            dataset = _create(file, name, value, raw, (storage or {}).get(name, {}))
            digest = xxhash.xxh3_128_hexdigest(np.ascontiguousarray(raw).tobytes())
            dataset.attrs.create("xxh3_128", np.bytes_(digest), dtype="S32")
    if sealed:
        seal(path)
    return path


def _create(file, name, value, raw, storage):
    if not isinstance(value, BFloat16):
        return file.create_dataset(name, data=raw, **storage)
    links = h5py.h5p.create(h5py.h5p.LINK_CREATE)
    links.set_create_intermediate_group(True)
    space = h5py.h5s.create_simple(raw.shape)
    dataset = h5py.h5d.create(file.id, name.encode(), bfloat16_type(), space, lcpl=links)
    dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, raw, bfloat16_type())
    return h5py.Dataset(dataset)


def seal(path):
    """Writes the user block that fits the rest of the file."""
    body = path.read_bytes()[512:]
    head = b"LOCKSTEP" + struct.pack("<IIQ", 1, 0, 512 + len(body)) + xxhash.xxh3_128_digest(body)
    path.write_bytes((head + xxhash.xxh3_128_digest(head)).ljust(512, b"\0") + body)


def flip(path, offset, bit=0):
    data = bytearray(path.read_bytes())
    data[offset] ^= 1 << bit
    path.write_bytes(data)


def metrics_line(number, steps=1024, **changes):
    row = {"round": number, "step": 40 * number, "environment_steps": steps * number, "return_mean": 10.0 * number,
           "episodes": 5, "loss_critic": 1.0 / number, "loss_objective": -0.01, "entropy": 0.6, "kl_approx": 0.004,
           "timings": {"round_s": 0.5, "environment_steps_per_s": 2000.0 + number}}
    return {**row, **changes}


def write_run(folder, rows=None, datasets=None):
    """A run directory with one checkpoint of round 3."""
    (folder / "checkpoints").mkdir(parents=True)
    (folder / "deck.toml").write_text(deck())
    rows = [metrics_line(i) for i in (1, 2, 3)] if rows is None else rows
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    write_checkpoint(folder / "checkpoints" / "round_0000000003.h5", datasets)
    (folder / "checkpoints" / "latest").write_text("round_0000000003.h5\n")
    return folder
