"""What to run while writing: the rules of the tree, the domain, and the tests of what was changed."""

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.machines.pythons import ROOT

ALWAYS: Final = ("tests/test_architecture.py", "tests/domain")
_MOST: Final = 3  # test files that import a changed one: what everything imports is left to `make test`


def changed_files(root: Path) -> list[Path]:
    """Files that are not committed as they are; else those of the last commit."""
    names = {*_git(root, "diff", "--name-only", "HEAD"), *_git(root, "ls-files", "--others", "--exclude-standard")}
    names = names or {*_git(root, "diff", "--name-only", "HEAD~")}
    return sorted(Path(name) for name in names if (root / name).is_file())


def tests_of(path: Path, root: Path) -> list[Path]:
    """The test file of that place and name, and the few that import it; for documentation, those that read it."""
    if path.parts[0] == "tests":
        return [path] if path.name.startswith("test_") else []
    if path.suffix == ".md" and path.parts[0] != "prompts":
        return [Path("tests/test_docs.py"), Path("tests/test_words.py")]
    inner = Path(*path.parts[1:]) if path.is_relative_to("workflows/domain") else path
    folders = (Path("tests") / inner.parent, Path("tests") / inner.parent.parent)  # a query is beside its module
    named = [folder / f"test_{path.stem}.py" for folder in folders]
    return [*(each for each in named if (root / each).exists()), *_importers(path, root)]


def _importers(path: Path, root: Path) -> Iterator[Path]:
    if path.suffix != ".py":
        return
    package, name = ".".join(path.parent.parts), path.stem
    imports = re.compile(rf"^(from {package}\.{name} import|from {package} import .*\b{name}\b)", re.MULTILINE)
    found = [each for each in (root / "tests").rglob("test_*.py") if imports.search(each.read_text("utf-8"))]
    if len(found) <= _MOST:
        yield from (each.relative_to(root) for each in found)


def _git(root: Path, *words: str) -> list[str]:
    """Its lines; none where there is no repository or no such commit."""
    return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True).stdout.splitlines()


def main() -> int:
    parser = argparse.ArgumentParser(prog="make quick", description=__doc__, allow_abbrev=False)
    parser.add_argument("--workers", default="4")
    options, more = parser.parse_known_args()
    touched = {str(test) for path in changed_files(ROOT) for test in tests_of(path, ROOT)}
    chosen = [*ALWAYS, *sorted(each for each in touched if not each.startswith(ALWAYS))]
    print(f"Testing {', '.join(chosen)}; `make test` runs all tests.", flush=True)
    pytest = [Path(sys.prefix) / "bin" / "pytest", "--quiet", "-n", options.workers, "--dist", "worksteal"]
    return subprocess.run([*pytest, *more, *chosen], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())
