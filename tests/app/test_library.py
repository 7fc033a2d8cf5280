"""Lockstep as a library: installed, found by find_package, and examples/own_loss built against it and run."""

import pathlib
import subprocess
import unittest

from program import EXECUTABLE, ProgramTest, ROOT


class Library(ProgramTest):
    def build(self, *command):
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stdout[-3000:] + done.stderr[-3000:])

    def test_the_example_trains_with_the_same_bits_on_any_number_of_ranks(self):
        prefix, build = self.folder / "prefix", self.folder / "build"
        self.build("cmake", "--install", pathlib.Path(EXECUTABLE).parent, "--prefix", prefix)
        self.build("cmake", "-S", ROOT / "examples" / "own_loss", "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}")
        self.build("cmake", "--build", build)
        printed = {ranks: self.run_program(program=build / "own_loss", ranks=ranks) for ranks in (1, 2, 4)}
        for ranks, result in printed.items():
            self.assertEqual(result.code, 0, result.text)
            self.assertEqual(result.out, printed[1].out, f"on {ranks} ranks")
        self.assertLess(float(printed[1].out.split()[-1]), 1e-3)

    def test_the_example_is_short(self):
        lines = (ROOT / "examples" / "own_loss" / "main.cpp").read_text().splitlines()
        code = [line for line in lines if line.strip() and not line.strip().startswith("//")]
        self.assertLess(len(code), 60)


if __name__ == "__main__":
    unittest.main()
