import os
import struct

import h5py
import pytest
import xxhash
from lockstep_analysis.verify import inspect
from writer import BFloat16, contents, flip, seal, text, write_checkpoint, write_run


@pytest.fixture
def path(tmp_path):
    return write_checkpoint(tmp_path / "round_0000000003.h5")


def test_whole_file_is_good(command, path):
    code, out, err = command("verify", path)
    assert (code, err) == (0, "")
    assert out == f"good  {path}: user block, whole file, {len(contents())} datasets\n"


def test_every_type_is_hashed_as_stored(tmp_path, command):
    datasets = contents(**{"model/half": BFloat16([0x7FC1, 0x8000]), "model/empty": text("")})
    path = write_checkpoint(tmp_path / "a.h5", datasets, storage={"training/environment/state": {"chunks": (3, 4)}})
    assert command("verify", path)[0] == 0


def test_any_flipped_bit_is_found(path):
    size = path.stat().st_size
    offsets = [*range(0, 64), *range(64, size, 61), size - 1]
    for number, offset in enumerate(offsets):
        flip(path, offset, number % 8)
        try:
            good, problems = inspect(path)
        finally:
            flip(path, offset, number % 8)
        assert problems, f"byte {offset}, bit {number % 8}"
    assert inspect(path) == (len(contents()), [])


def test_damaged_dataset_is_named_with_its_place(command, path):
    with h5py.File(path) as file:
        offset = file["training/environment/state"].id.get_offset()
    flip(path, offset + 9)
    code, out, err = command("verify", path)
    assert code == 1
    assert f"dataset training/environment/state (bytes {offset}-{offset + 255} of the file)" in out
    assert "whole file: the bytes from 512 on do not match" in out
    assert err.startswith(f"error: {path}: damaged: ") and err.endswith("(and 1 more)\n") and err.count("\n") == 1


def test_dataset_hash_is_checked_apart_from_the_files(tmp_path, command, path):
    with h5py.File(path) as file:
        offset = file["model/critic.0.weight"].id.get_offset()
    flip(path, offset)
    seal(path)
    code, out, _ = command("verify", path)
    assert code == 1
    assert out.count("damaged") == 1 and "dataset model/critic.0.weight" in out


def test_dataset_without_a_hash_is_damaged(command, path):
    with h5py.File(path, "r+", libver=("v110", "v110")) as file:
        del file["model/critic.0.weight"].attrs["xxh3_128"]
    seal(path)
    code, out, _ = command("verify", path)
    assert (code, out) == (1, "damaged  dataset model/critic.0.weight: has no attribute xxh3_128\n")


@pytest.mark.parametrize("length", [0, 1, 511, 512, 600, 5000, -1])
def test_cut_file_is_damaged(command, path, length):
    os.truncate(path, length if length >= 0 else path.stat().st_size - 1)
    assert command("verify", path)[0] == 1


def test_appended_byte_is_damage(command, path):
    size = path.stat().st_size
    with open(path, "ab") as file:
        file.write(b"\0")
    code, out, _ = command("verify", path)
    assert code == 1
    assert f"length: the file has {size + 1} bytes, its user block says {size}" in out


@pytest.mark.parametrize("attributes", [{}, {"round": 3}, {"format_version": 1}, {"format_version": 2, "round": 3},
                                        {"format_version": 1, "round": -1}])
def test_root_attributes_are_checked(tmp_path, command, attributes):
    path = write_checkpoint(tmp_path / "a.h5", attributes=attributes)
    code, out, _ = command("verify", path)
    assert code == 1
    assert "root attribute" in out


def test_link_is_damage(command, path):
    with h5py.File(path, "r+", libver=("v110", "v110")) as file:
        file["model/outside"] = h5py.ExternalLink("/etc/hostname", "/x")
    seal(path)
    code, out, _ = command("verify", path)
    assert code == 1
    assert "/model/outside is a link" in out


def test_loop_of_groups_ends(command, path):
    with h5py.File(path, "r+", libver=("v110", "v110")) as file:
        file["model/again"] = file["model"]
    seal(path)
    code, out, _ = command("verify", path)
    assert code == 1
    assert "nested deeper than 200" in out


def test_text_file_is_no_good_checkpoint(tmp_path, command):
    path = tmp_path / "notes.txt"
    path.write_text("LOCKSTEQ" * 200)
    code, out, _ = command("verify", path)
    assert code == 1
    assert "b'LOCKSTEQ' instead of b'LOCKSTEP'" in out


def test_newer_format_is_refused_not_called_damaged(command, path):
    data = bytearray(path.read_bytes())
    data[8:12] = struct.pack("<I", 2)
    data[40:56] = xxhash.xxh3_128_digest(bytes(data[:40]))
    path.write_bytes(data)
    code, out, err = command("verify", path)
    assert (code, out) == (2, "")
    assert err == f"error: {path}: format version 2, this package reads 1\n"


def test_missing_is_2(tmp_path, command):
    code, out, err = command("verify", tmp_path / "none.h5")
    assert (code, out) == (2, "")
    assert err == f"error: {tmp_path / 'none.h5'}: No such file or directory\n"
    assert command("verify", tmp_path)[0] == 2
    os.mkfifo(tmp_path / "pipe")
    assert command("verify", tmp_path / "pipe")[0] == 2


def test_run_directory_means_its_latest(tmp_path, command):
    run = write_run(tmp_path / "run")
    folder = run / "checkpoints"
    newer = write_checkpoint(folder / "round_0000000010.h5")
    flip(newer, 600)
    assert command("verify", run)[0] == 0
    (folder / "latest").write_text("round_0000000010.h5\n")
    assert command("verify", run)[0] == 1
    (folder / "latest").unlink()
    assert str(newer) in command("verify", run)[2]


@pytest.mark.parametrize("named", ["round_0000000099.h5", "../../other.h5", "", "x\0y"])
def test_latest_that_names_nothing_is_told(tmp_path, command, named):
    run = write_run(tmp_path / "run")
    write_checkpoint(tmp_path / "other.h5")
    (run / "checkpoints" / "latest").write_text(named + "\n")
    code, out, err = command("verify", run)
    assert code == 0
    assert "round_0000000003.h5" in out
    assert err.startswith("note: ") and err.endswith("using round_0000000003.h5\n") and err.count("\n") == 1
