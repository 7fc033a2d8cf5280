import numpy as np
from lockstep_analysis.dataset import Dataset
from writer import BFloat16, contents, text, write_checkpoint, write_run


def test_says_what_it_is(tmp_path, command):
    path = write_run(tmp_path / "run") / "checkpoints" / "round_0000000003.h5"
    code, out, err = command("info", tmp_path / "run")
    assert (code, err) == (0, "")
    for line in (f"checkpoint   {path}", "round        3", "environment  CartPole-v1", "algorithm    ppo",
                 "model: 3 tensors, 14 values", "  critic.0.weight  1x4    float32  2.07666",
                 "  environment_steps: 3072", "  finished: [True, False]", "history: 3 rounds of",
                 '  environment: name "CartPole-v1", count 8', "  host: node1"):
        assert line in out.splitlines()


def test_norms_and_order(tmp_path, command):
    weights = {"model/actor.10.bias": BFloat16([0x4040, 0x4080]), "model/actor.2.bias": np.array([-0.5, 0.0]),
               "model/scalar": np.array(7, np.int64)}
    rows = command("info", write_checkpoint(tmp_path / "a.h5", contents(**weights)))[1].splitlines()
    table = [row.split() for row in rows if row.startswith("  actor") or row.startswith("  scalar")]
    assert table[2:] == [["actor.2.bias", "2", "float64", "0.5"], ["actor.10.bias", "2", "bfloat16", "5"],
                         ["scalar", "scalar", "int64", "7"]]


def test_reads_no_training_state(tmp_path, command, monkeypatch):
    path = write_checkpoint(tmp_path / "a.h5")
    read, original = [], Dataset.slabs
    monkeypatch.setattr(Dataset, "slabs", lambda self, *limit: (read.append(self.name), original(self, *limit))[1])
    assert command("info", path)[0] == 0
    assert "training/counters/environment_steps" in read
    assert not [name for name in read if name.startswith(("training/environment", "training/optimizer", "history"))]


def test_names_and_texts_stay_on_a_line(tmp_path, command):
    changes = {"model/a%2Fb {} %s\n": np.zeros(1), "provenance/note\x1b": text("one\ntwo")}
    out = command("info", write_checkpoint(tmp_path / "a.h5", contents(**changes)))[1]
    assert "  a/b {} %s\\n " in out and "  note\\x1b: one\\ntwo\n" in out


def test_missing_and_damaged(tmp_path, command):
    assert command("info", tmp_path / "none")[0] == 2
    datasets = contents()
    del datasets["provenance/deck"]
    path = write_checkpoint(tmp_path / "a.h5", datasets)
    code, _, err = command("info", path)
    assert (code, err) == (2, f"error: {path}: holds no provenance/deck\n")
    path = write_checkpoint(tmp_path / "b.h5", contents(**{"provenance/deck": text("[run")}))
    code, _, err = command("info", path)
    assert code == 2 and "provenance/deck is not TOML" in err


def test_many_layers_and_a_long_deck(tmp_path, command):
    layers = {f"model/actor.{2 * i}.weight": np.ones((2, 2), np.float32) for i in range(400)}
    long_deck = text('[environment]\nname = "CartPole-v1"\n' + "# filler\n" * 25000)
    path = write_checkpoint(tmp_path / "a.h5", contents(**layers, **{"provenance/deck": long_deck}))
    code, out, _ = command("info", path)
    assert code == 0
    assert "model: 402 tensors" in out
    assert command("verify", path)[0] == 0
