"""The scripts of jobs/ keep their promises: exit codes, logs, last lines, and a clear word where there is no root."""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Scripts(unittest.TestCase):
    """Each test has a copy of jobs/ in a folder with a space in its name, and a folder of programs of its own."""

    def setUp(self):
        folder = Path(tempfile.mkdtemp(prefix="lockstep jobs "))
        self.addCleanup(shutil.rmtree, folder)
        self.root = folder / "a project"
        shutil.copytree(ROOT / "jobs", self.root / "jobs")
        (self.root / "analysis").mkdir()
        (self.root / "analysis" / "pyproject.toml").write_text("")
        self.programs = folder / "programs"
        self.programs.mkdir()

    def program(self, name, *lines):
        path = self.programs / name
        path.write_text("\n".join(["#!/bin/bash", *lines, ""]))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def run_bash(self, *command, **variables):
        environment = {**os.environ, "PATH": f"{self.programs}:{os.environ['PATH']}", **variables}
        for name in ("Torch_DIR", "LOCKSTEP_TORCH_INDEX"):
            if name not in variables:
                environment.pop(name, None)
        return subprocess.run(
            ["bash", *command], cwd="/", env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )

    def run_with_library(self, text):
        script = self.root / "jobs" / "example.sh"
        script.write_text(f'set -euo pipefail\nsource "$(dirname -- "${{BASH_SOURCE[0]}}")/lib.sh"\n{text}\n')
        return self.run_bash(str(script))

    def every_package_is_installed(self):
        self.program("dpkg-query", "printf installed")

    def log(self, name):
        return (self.root / "build" / "logs" / f"{name}.log").read_text()


class Steps(Scripts):
    def test_a_step_that_works_is_quiet_and_logged(self):
        done = self.run_with_library("run_step greet echo hello\nsay after")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "== after\n", ""))
        self.assertEqual(self.log("greet"), "hello\n")

    def test_a_step_that_fails_shows_its_last_30_lines_and_gives_its_code(self):
        done = self.run_with_library("run_step count bash -c 'seq 100; exit 7'\nsay never")
        self.assertEqual(done.returncode, 7)
        self.assertEqual(done.stdout, "")
        lines = done.stderr.splitlines()
        self.assertEqual(lines[1:-1], [str(number) for number in range(71, 101)])
        self.assertIn(str(self.root / "build" / "logs" / "count.log"), lines[-1])
        self.assertEqual(len(self.log("count").splitlines()), 100)

    def test_a_shown_step_is_seen_and_logged_and_gives_its_code(self):
        done = self.run_with_library("show_step train bash -c 'echo step 1; echo bad >&2; exit 3'\nsay never")
        self.assertEqual((done.returncode, done.stdout), (3, "step 1\nbad\n"))
        self.assertEqual(self.log("train"), "step 1\nbad\n")
        self.assertIn("train.log", done.stderr)

    def test_only_root_tells_open_mpi_to_run_as_root(self):
        for user, expected in (("0", "1 1\n"), ("1000", "no no\n")):
            with self.subTest(user=user):
                self.program("id", f"echo {user}")
                shown = "echo ${OMPI_ALLOW_RUN_AS_ROOT:-no} ${OMPI_ALLOW_RUN_AS_ROOT_CONFIRM:-no}"
                names = "unset OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"
                self.assertEqual(self.run_with_library(f"{names}\nallow_any_launch\n{shown}").stdout, expected)


class Setup(Scripts):
    def setup(self, *arguments, **variables):
        return self.run_bash(str(self.root / "jobs" / "setup.sh"), *arguments, **variables)

    def nothing_can_become_root(self):
        self.program("id", "echo 1000")
        self.program("sudo", "exit 1")
        self.program("apt-get", "echo apt-get was called >&2; exit 99")

    def test_without_root_it_says_what_an_administrator_has_to_run(self):
        self.nothing_can_become_root()
        self.program("dpkg-query", '[[ "${@: -1}" == *hdf5* || "${@: -1}" == ninja-build ]] || printf installed')
        done = self.setup()
        self.assertEqual(done.returncode, 1)
        self.assertIn("    apt-get install libhdf5-dev hdf5-tools ninja-build\n", done.stderr)
        self.assertFalse((self.root / ".venv").exists())

    def test_an_alternative_that_is_installed_will_do(self):
        self.nothing_can_become_root()
        self.program("dpkg-query", '[[ "${@: -1}" == libtrilinos-kokkos-dev || "${@: -1}" == ccache ]] || printf installed')
        self.assertIn("    apt-get install ccache\n", self.setup().stderr)

    def test_the_offered_alternative_is_chosen(self):
        self.nothing_can_become_root()
        self.program("dpkg-query", '[[ "${@: -1}" == *kokkos* ]] || printf installed')
        # Much text after the line that matters: a reader that stops there must not fail.
        self.program("apt-cache", '[[ $2 == libkokkos-dev ]] && echo "  Candidate: 5.0" || echo "  Candidate: (none)"', "seq 99999")
        self.assertIn("    apt-get install libkokkos-dev\n", self.setup().stderr)

    def test_only_lint_wants_the_linter(self):
        self.nothing_can_become_root()
        self.program("dpkg-query", ":")
        self.assertNotIn("clang-tidy", self.setup().stderr)
        self.assertIn("clang-tidy", self.setup("--lint").stderr)

    def test_a_package_that_no_source_has_is_named(self):
        self.program("id", "echo 0")
        self.program("apt-get", ":")
        self.program("apt-cache", 'echo "  Candidate: (none)"')
        self.program("dpkg-query", '[[ "${@: -1}" == libhdf5-dev ]] || printf installed')
        done = self.setup()
        self.assertEqual(done.returncode, 1)
        self.assertIn("no libhdf5-dev", done.stderr)

    def test_a_second_run_does_nothing(self):
        self.every_package_is_installed()
        calls = self.root / "calls"
        self.program(
            "python3",
            '[[ $2 == venv ]] || exec /usr/bin/env -i PATH="${PATH#*:}" python3 "$@"',
            f'mkdir -p "$4/bin"; printf \'#!/bin/bash\\necho "$@" >>"{calls}"\\n\' >"$4/bin/python"; chmod +x "$4/bin/python"',
        )
        self.assertEqual(self.setup().returncode, 0)
        first = calls.read_text()
        self.assertIn("-r jobs/requirements.torch.txt", first)
        self.assertIn("-e analysis", first)
        again = self.setup()
        self.assertEqual(again.returncode, 0)
        self.assertEqual(again.stdout, "== Set up: Debian packages, .venv\n")
        self.assertEqual(calls.read_text(), first)
        with open(self.root / "jobs" / "requirements.txt", "a", encoding="utf-8") as requirements:
            requirements.write("another\n")
        self.assertEqual(self.setup().returncode, 0)
        self.assertGreater(len(calls.read_text()), len(first))

    def test_a_given_libtorch_is_used_and_the_index_is_passed_on(self):
        self.every_package_is_installed()
        calls = self.root / "calls"
        interpreter = self.root / ".venv" / "bin" / "python"
        interpreter.parent.mkdir(parents=True)
        interpreter.write_text(f'#!/bin/bash\necho "$@" >>"{calls}"\n')
        interpreter.chmod(0o755)
        self.assertEqual(self.setup(LOCKSTEP_TORCH_INDEX="index of torch").returncode, 0)
        self.assertIn("--index-url index of torch -r jobs/requirements.torch.txt", calls.read_text())
        calls.unlink()
        given = self.root / "torch"
        given.mkdir()
        (given / "TorchConfig.cmake").write_text("")
        self.assertEqual(self.setup(Torch_DIR=str(given)).returncode, 0)
        self.assertNotIn("requirements.torch.txt", calls.read_text())

    def test_nccl_can_be_left_out(self):
        self.every_package_is_installed()
        calls = self.root / "calls"
        interpreter = self.root / ".venv" / "bin" / "python"
        interpreter.parent.mkdir(parents=True)
        interpreter.write_text(f'#!/bin/bash\necho "$@" >>"{calls}"\n')
        interpreter.chmod(0o755)
        self.assertEqual(self.setup(LOCKSTEP_NCCL="OFF").returncode, 0)
        self.assertNotIn("requirements.nccl.txt", calls.read_text())
        self.assertEqual(self.setup(LOCKSTEP_NCCL="AUTO").returncode, 0)
        self.assertIn("-r jobs/requirements.nccl.txt", calls.read_text())

    def test_a_torch_dir_that_is_none_is_refused(self):
        self.every_package_is_installed()
        done = self.setup(Torch_DIR="/nowhere")
        self.assertEqual(done.returncode, 1)
        self.assertIn("'/nowhere', which has no TorchConfig.cmake", done.stderr)

    def test_a_python_too_old_is_named(self):
        self.every_package_is_installed()
        self.program("python3", '[[ $1 == --version ]] && echo Python 3.9.2 || [[ $2 != *version_info\\ \\<* ]]')
        done = self.setup()
        self.assertEqual(done.returncode, 1)
        self.assertIn("Python 3.9.2; Lockstep needs 3.11", done.stderr)


class Gpu(Scripts):
    """The scripts for GPUs, on a machine that has none."""

    def without_setup(self):
        (self.root / "jobs" / "setup.sh").write_text("exit 0\n")

    def test_without_a_gpu_it_says_so(self):
        self.without_setup()
        self.program("nvidia-smi", ":")
        done = self.run_bash(str(self.root / "jobs" / "check_gpu.sh"))
        self.assertEqual((done.returncode, done.stderr), (1, "error: nvidia-smi lists no GPU\n"))

    def test_it_runs_the_suite_at_each_count_that_there_are_gpus_for(self):
        self.without_setup()
        (self.root / "jobs" / "check_cuda_build.sh").write_text('echo "built $*"\n')
        self.program("nvidia-smi", '[[ $1 == *index* ]] && printf "0\\n1\\n2\\n" || printf "A, 1\\nA, 1\\nA, 1\\n"')
        self.program("mpirun", 'echo "run with $@"')
        done = self.run_bash(str(self.root / "jobs" / "check_gpu.sh"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("built comm_gpu_collectives_test", done.stdout)
        runs = [line for line in done.stdout.splitlines() if line.startswith("run with")]
        self.assertEqual([run.split()[2:4] for run in runs], [["-n", "1"], ["-n", "2"]])

    def test_a_suite_that_fails_fails_it(self):
        self.without_setup()
        (self.root / "jobs" / "check_cuda_build.sh").write_text("exit 0\n")
        self.program("nvidia-smi", "echo 0")
        self.program("mpirun", "exit 5")
        self.assertEqual(self.run_bash(str(self.root / "jobs" / "check_gpu.sh")).returncode, 5)

    def test_a_disk_without_room_is_named_before_anything_is_fetched(self):
        self.without_setup()
        self.program("df", "echo Avail; echo 3")
        self.program("python3", "exit 99")
        done = self.run_bash(str(self.root / "jobs" / "check_cuda_build.sh"))
        self.assertEqual((done.returncode, done.stderr), (1, "error: build/cuda needs 14 GB; this disk has 3 GB free\n"))


class Test(Scripts):
    """jobs/test.sh around a ctest that runs a project of our making."""

    def run_tests(self, body, *arguments):
        (self.root / "jobs" / "setup.sh").write_text("exit 0\n")
        (self.root / "CMakeLists.txt").write_text(
            f"cmake_minimum_required(VERSION 3.25)\nproject(example LANGUAGES NONE)\nenable_testing()\n{body}\n"
        )
        shutil.copy(ROOT / "CMakePresets.json", self.root)
        done = self.run_bash(str(self.root / "jobs" / "test.sh"), *arguments)
        return done.returncode, done.stdout.splitlines()[-1] if done.stdout else done.stderr

    def test_the_last_line_counts_what_passed(self):
        body = "add_test(NAME a COMMAND true)\nadd_test(NAME b COMMAND true)"
        self.assertEqual(self.run_tests(body), (0, "2 passed, 0 failed"))

    def test_a_failure_is_counted_and_not_zero(self):
        code, line = self.run_tests("add_test(NAME a COMMAND true)\nadd_test(NAME b COMMAND false)")
        self.assertEqual(line, "1 passed, 1 failed")
        self.assertNotEqual(code, 0)

    def test_skipped_tests_are_told_apart(self):
        body = "add_test(NAME a COMMAND true)\nadd_test(NAME b COMMAND false)\n" + \
            "set_tests_properties(b PROPERTIES SKIP_RETURN_CODE 1)"
        self.assertEqual(self.run_tests(body), (0, "1 passed, 0 failed, 1 skipped"))

    def test_arguments_reach_ctest(self):
        body = "add_test(NAME a COMMAND true)\nadd_test(NAME b COMMAND false)"
        self.assertEqual(self.run_tests(body, "-R", "a"), (0, "1 passed, 0 failed"))

    def test_no_test_at_all_is_a_failure(self):
        self.assertNotEqual(self.run_tests("")[0], 0)

    def test_tests_that_wait_for_a_failed_fixture_do_not_pass(self):
        body = "add_test(NAME a COMMAND false)\nadd_test(NAME b COMMAND true)\n" + \
            "set_tests_properties(a PROPERTIES FIXTURES_SETUP f)\nset_tests_properties(b PROPERTIES FIXTURES_REQUIRED f)"
        code, line = self.run_tests(body)
        self.assertNotEqual(code, 0)
        self.assertTrue(line.startswith("0 passed, "), line)

    def test_a_build_that_fails_ends_it(self):
        code, line = self.run_tests("message(FATAL_ERROR no such thing)")
        self.assertNotEqual(code, 0)
        self.assertNotIn("passed", line)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
