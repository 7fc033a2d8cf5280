"""Each module uses only those above it, and outside libraries stay where the design says."""

import contextlib
import sys
import tempfile
import unittest
from pathlib import Path

import include_graph

ROOT = Path(__file__).resolve().parents[2]


@contextlib.contextmanager
def tree_of(files):
    """A folder made of `files`, path -> text."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        yield folder


def violations_of(files):
    with tree_of(files) as root:
        return include_graph.violations(root)


class RulesCanFail(unittest.TestCase):
    def assert_one(self, files, *words):
        found = violations_of(files)
        self.assertEqual(len(found), 1, found)
        for word in words:
            self.assertIn(word, found[0])

    def test_a_tree_in_order_is_clean(self):
        self.assertEqual(
            violations_of(
                {
                    "include/lockstep/core/error.hpp": "#include <string>\n",
                    "include/lockstep/comm/request.hpp": '#include "lockstep/core/error.hpp"\n',
                    "src/comm/handle.hpp": "#include <mpi.h>\n",
                    "src/comm/request.cpp": '#include "lockstep/comm/request.hpp"\n#include "comm/handle.hpp"\n',
                    "src/checkpoint/file.cpp": "#include <hdf5.h>\n",
                    "src/staging/buffer.cpp": "#include <Kokkos_Core.hpp>\n",
                    "src/core/arithmetic.cpp": "#include <ATen/Parallel.h>\n",
                    "src/nn/mlp.cpp": "#include <ATen/ATen.h>\n",
                }
            ),
            [],
        )

    def test_a_module_that_uses_one_below_it(self):
        self.assert_one(
            {
                "include/lockstep/learner/learner.hpp": "",
                "src/losses/ppo.cpp": '#include "lockstep/learner/learner.hpp"\n',
            },
            "src/losses/ppo.cpp",
            "losses may not use learner",
        )

    def test_the_order_holds_for_angle_brackets_and_odd_spacing(self):
        self.assert_one(
            {"include/lockstep/data/batch.hpp": "", "src/config/deck.cpp": "  #  include<lockstep/data/batch.hpp>\n"},
            "config may not use data",
        )

    def test_a_way_around_through_a_relative_path(self):
        self.assert_one(
            {
                "include/lockstep/app/train.hpp": "",
                "include/lockstep/envs/environment.hpp": '#include "../app/train.hpp"\n',
            },
            "envs may not use app",
        )

    def test_a_private_header_of_another_module(self):
        self.assert_one(
            {"src/comm/handle.hpp": "", "src/learner/learner.cpp": '#include "comm/handle.hpp"\n'},
            "a private header of comm",
        )

    def test_a_private_header_that_shows_an_outside_library_may_be_shared(self):
        self.assertEqual(
            violations_of({"src/core/mpi_check.hpp": "#include <mpi.h>\n", "src/comm/a.cpp": '#include "core/mpi_check.hpp"\n'}),
            [],
        )

    def test_a_header_that_is_not_there(self):
        self.assert_one({"src/core/log.cpp": '#include "lockstep/core/lgo.hpp"\n'}, "lockstep/core/lgo.hpp")

    def test_an_unknown_module(self):
        self.assert_one({"src/utilities/strings.cpp": ""}, "src/utilities/strings.cpp", "no module")

    def test_a_file_beside_the_modules(self):
        self.assert_one({"include/lockstep/everything.hpp": ""}, "include/lockstep/everything.hpp", "no module")

    def test_outside_libraries_in_modules_that_may_not_have_them(self):
        for module, header, library in (
            ("learner", "mpi.h", "MPI"),
            ("rollout", "nccl.h", "NCCL"),
            ("data", "hdf5.h", "HDF5"),
            ("app", "H5Fpublic.h", "HDF5"),
            ("comm", "Kokkos_Core.hpp", "Kokkos"),
            ("algorithms", "openmpi/mpi.h", "MPI"),
        ):
            with self.subTest(module=module, header=header):
                self.assert_one({f"src/{module}/file.cpp": f"#include <{header}>\n"}, f"src/{module}/file.cpp", library)

    def test_outside_libraries_in_public_headers(self):
        for module, header in (("comm", "mpi.h"), ("checkpoint", "hdf5.h"), ("staging", "Kokkos_Core.hpp")):
            with self.subTest(header=header):
                self.assert_one({f"include/lockstep/{module}/file.hpp": f"#include <{header}>\n"}, "public headers")

    def test_torch_where_there_are_no_tensors(self):
        for module in sorted(include_graph.WITHOUT_TORCH):
            with self.subTest(module=module):
                self.assert_one({f"src/{module}/file.cpp": "#include <ATen/ATen.h>\n"}, "LibTorch")

    def test_torch_reached_through_another_header(self):
        self.assert_one(
            {
                "include/lockstep/data/batch.hpp": "#include <torch/nn/module.h>\n",
                "src/checkpoint/file.cpp": '#include "lockstep/data/batch.hpp"\n',
            },
            "src/checkpoint/file.cpp -> include/lockstep/data/batch.hpp -> torch/nn/module.h",
        )

    def test_headers_that_reach_an_outside_header(self):
        files = {
            "include/lockstep/nn/mlp.hpp": "#include <torch/nn/module.h>\n",
            "include/lockstep/losses/loss.hpp": '#include "lockstep/nn/mlp.hpp"\n',
            "include/lockstep/data/batch.hpp": "#include <ATen/ATen.h>\n",
            "src/nn/mlp.cpp": "#include <torch/nn/module.h>\n",
        }
        with tree_of(files) as root:
            reached = list(include_graph.public_headers_reaching(root, "torch/nn/module.h"))
        self.assertEqual(reached, ["lockstep/losses/loss.hpp", "lockstep/nn/mlp.hpp"])

    def test_a_commented_include_is_none(self):
        self.assertEqual(violations_of({"src/nn/mlp.cpp": "// #include <mpi.h>\n/*\n#include <hdf5.h>\n*/\n"}), [])


class OurSources(unittest.TestCase):
    def test_every_module_keeps_to_the_table(self):
        self.assertEqual(include_graph.violations(ROOT), [])

    def test_there_is_something_to_read(self):
        sources = include_graph.Sources(ROOT)
        edges = sum(target is not None for includes in sources.includes.values() for _, target in includes)
        self.assertGreater(len(sources.files), 20)
        self.assertGreater(edges, 20)

    def test_the_table_is_the_designs(self):
        design = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
        section = design.split("## 3. Modules", 1)[1].split("\n## ", 1)[0]
        rows = [line.split("|")[1].strip() for line in section.splitlines() if line.startswith("|")]
        self.assertEqual(tuple(row for row in rows if row not in ("module", "---")), include_graph.MODULES)

    def test_the_exceptions_exist(self):
        for name in include_graph.TORCH_EXCEPTIONS:
            self.assertTrue((ROOT / name).is_file(), name)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
