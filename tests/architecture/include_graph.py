"""Reads who includes whom in include/ and src/, and holds it against the module table of docs/design.md, section 3."""

import re
import sys
from pathlib import Path

# Each module may include only those before it.
MODULES = (
    "core",
    "staging",
    "comm",
    "config",
    "data",
    "nn",
    "losses",
    "learner",
    "weights",
    "checkpoint",
    "envs",
    "rollout",
    "language",
    "algorithms",
    "app",
)

# Outside headers that only some modules may include, and none of them in a public header.
LIBRARIES = {
    "MPI": (re.compile(r"mpi(-ext)?\.h$"), {"core", "staging", "comm", "checkpoint"}),
    "NCCL": (re.compile(r"nccl(_net)?\.h$"), {"core", "staging", "comm", "checkpoint"}),
    "CUDA": (re.compile(r"cuda(_runtime(_api)?)?\.h$"), {"core", "staging", "comm"}),
    "HDF5": (re.compile(r"(hdf5|hdf5_hl|H5\w*)\.h$"), {"core", "staging", "comm", "checkpoint"}),
    "Kokkos": (re.compile(r"(Kokkos_.*|KokkosCore_.*)"), {"core", "staging"}),
}

# Modules that know bytes and names, not tensors.
WITHOUT_TORCH = {"core", "staging", "comm", "config", "checkpoint"}
# The one file of theirs that sets LibTorch's threads and arithmetic.
TORCH_EXCEPTIONS = {"src/core/arithmetic.cpp"}
TORCH = re.compile(r"(torch|ATen|c10|caffe2)/")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


class Sources:
    """The sources under a root: for each file the headers it names, in order, as written and as found."""

    def __init__(self, root):
        self.root = Path(root)
        folders = (self.root / "include" / "lockstep", self.root / "src")
        self.files = sorted(
            path for folder in folders for path in folder.rglob("*") if path.suffix in (".hpp", ".cpp", ".h", ".cu")
        )
        self.includes = {path: list(self._read(path)) for path in self.files}

    def _read(self, path):
        text = COMMENT.sub("", path.read_text(encoding="utf-8"))
        for bracket, name in INCLUDE.findall(text):
            yield name, self._find(path, bracket, name)

    def _find(self, path, bracket, name):
        """The file of ours that an include means; None for an outside header."""
        folders = [self.root / "include", self.root / "src"]
        if bracket == '"':
            folders.insert(0, path.parent)
        for folder in folders:
            candidate = (folder / name).resolve()
            if candidate.is_file() and candidate.is_relative_to(self.root.resolve()):
                return self.root / candidate.relative_to(self.root.resolve())
        return None

    def name(self, path):
        return path.relative_to(self.root).as_posix()

    def module(self, path):
        """The folder under include/lockstep or src; None for a file beside the folders."""
        parts = path.relative_to(self.root).parts
        inside = parts[2:] if parts[0] == "include" else parts[1:]
        return inside[0] if len(inside) > 1 else None

    def is_public(self, path):
        return path.relative_to(self.root).parts[0] == "include"

    def outside(self, path, seen=None):
        """Every outside header that `path` reaches, with the chain of our files that leads there."""
        seen = set() if seen is None else seen
        seen.add(path)
        for name, target in self.includes.get(path, ()):
            if target is None:
                yield name, (path,)
            elif target not in seen:
                for reached, chain in self.outside(target, seen):
                    yield reached, (path, *chain)


def violations(root):
    """Sentences, one a broken rule."""
    sources = Sources(root)
    found = []
    for path in sources.files:
        name, module = sources.name(path), sources.module(path)
        if module not in MODULES:
            found.append(f"{name}: lies in no module of the table; the modules are {', '.join(MODULES)}")
            continue
        for header, target in sources.includes[path]:
            found += order_violations(sources, name, module, header, target)
            if target is None:
                found += library_violations(name, module, header, sources.is_public(path))
        found += torch_violations(sources, path, name, module)
    return found


def order_violations(sources, name, module, header, target):
    if target is None:
        # The compiler would find such a header by some other path: ours to follow, and we cannot.
        return [f"{name}: includes {header}, which is not in include/ or src/"] if header.startswith("lockstep/") else []
    used = sources.module(target)
    if used in MODULES and MODULES.index(used) > MODULES.index(module):
        return [f"{name}: {module} may not use {used} ({header}), which comes after it in the table"]
    if used != module and not sources.is_public(target) and not shows_library(sources, target):
        return [f"{name}: includes {sources.name(target)}, a private header of {used}"]
    return []


def shows_library(sources, path):
    """A private header serves its own module, unless it shows an outside library that no public header may show."""
    headers = [header.rsplit("/", 1)[-1] for header, _ in sources.outside(path)]
    return any(pattern.match(header) for pattern, _ in LIBRARIES.values() for header in headers)


def library_violations(name, module, header, public):
    for library, (pattern, modules) in LIBRARIES.items():
        if not pattern.match(header.rsplit("/", 1)[-1]):
            continue
        if module not in modules:
            return [f"{name}: includes {header}; {library} belongs in {', '.join(sorted(modules))}"]
        if public:
            return [f"{name}: includes {header}; {library} stays out of public headers"]
    return []


def torch_violations(sources, path, name, module):
    if module not in WITHOUT_TORCH or name in TORCH_EXCEPTIONS:
        return []
    for header, chain in sources.outside(path):
        if TORCH.match(header):
            way = " -> ".join([sources.name(step) for step in chain] + [header])
            return [f"{name}: {module} knows no tensors, yet reaches LibTorch: {way}"]
    return []


def public_headers_reaching(root, header):
    """The public headers that reach the outside `header` by their own includes, as they are included."""
    sources = Sources(root)
    for path in filter(sources.is_public, sources.files):
        if any(reached == header for reached, _ in sources.outside(path)):
            yield path.relative_to(sources.root / "include").as_posix()


if __name__ == "__main__":
    print("\n".join(public_headers_reaching(*sys.argv[1:])))
