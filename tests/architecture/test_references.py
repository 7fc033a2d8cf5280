"""What the texts for people and the scripts name exists: files, presets, ctest labels, CMake options."""

import json
import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXTS = ("README.md", "CONTRIBUTING.md", ".ci/run")
# Folders that are in the repository; build/, runs/ and .venv/ are made.
PATH = re.compile(
    r"(?<![\w/.<>$*{-])(?:\.ci|jobs|inputs|docs|cmake|tests|analysis|benchmarks|include|src)/[\w./*<>{},$-]*[\w/*>}]"
)
PLACEHOLDER = re.compile(r"[<>*{},$]")
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")


def named_paths(text):
    """Paths of the repository in a text, those with placeholders left out."""
    found = {path.rstrip(".") for path in PATH.findall(text)} | set(LINK.findall(text))
    return sorted(path for path in found if not PLACEHOLDER.search(path))


def missing(root, text):
    return [path for path in named_paths(text) if not (root / path).exists()]


class TheReader(unittest.TestCase):
    def test_paths_are_found_in_prose_code_and_links(self):
        text = "Run `bash jobs/test.sh`, see [the design](docs/design.md) and docs/deck.md.\n    train inputs/a.toml\n"
        self.assertEqual(named_paths(text), ["docs/deck.md", "docs/design.md", "inputs/a.toml", "jobs/test.sh"])

    def test_placeholders_and_made_folders_are_left_out(self):
        self.assertEqual(named_paths("src/<module>/x.cpp include/lockstep/*.hpp build/release/lockstep $x/src/a"), [])

    def test_a_name_that_is_not_there_is_missing(self):
        self.assertEqual(missing(ROOT, "bash jobs/setup.sh && bash jobs/settup.sh"), ["jobs/settup.sh"])


class TextsAndScripts(unittest.TestCase):
    def test_named_files_exist(self):
        scripts = sorted((ROOT / "jobs").glob("*.sh"))
        self.assertTrue(scripts)
        for path in [ROOT / name for name in TEXTS] + scripts:
            with self.subTest(text=path.name):
                self.assertEqual(missing(ROOT, path.read_text(encoding="utf-8")), [])

    def test_every_text_names_files(self):
        for name in TEXTS:
            with self.subTest(text=name):
                self.assertTrue(named_paths((ROOT / name).read_text(encoding="utf-8")))

    def test_the_readme_is_short_and_begins_with_the_two_commands(self):
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        self.assertLess(len(readme.splitlines()), 150)
        commands = re.findall(r"^    bash (\S+)", readme, re.MULTILINE)
        self.assertEqual(commands[:2], ["jobs/quickstart.sh", "jobs/test.sh"])

    def test_presets_build_where_the_texts_say(self):
        presets = json.loads((ROOT / "CMakePresets.json").read_text(encoding="utf-8"))
        base = next(preset for preset in presets["configurePresets"] if preset["name"] == "base")
        self.assertEqual(base["binaryDir"], "${sourceDir}/build/${presetName}")
        for kind in ("configurePresets", "buildPresets", "testPresets", "workflowPresets"):
            names = [preset["name"] for preset in presets[kind] if not preset.get("hidden")]
            self.assertEqual(names, ["release", "debug", "asan"], kind)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
