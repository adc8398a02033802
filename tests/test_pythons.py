"""The Pythons that are supported, 3.11.2 to 3.14: packages have wheels for all of them, and we use nothing newer."""

import ast
import importlib
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from packaging.specifiers import SpecifierSet
from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import parse_wheel_filename

ROOT = Path(__file__).resolve().parent.parent
CODE = ("workflows", "activities", "prompts", "worker", "tests", "bench")
OLDEST = (3, 11, 2)
MINORS = (11, 12, 13, 14)
MACHINES = ("x86_64", "aarch64")
OLDEST_GLIBC = 36  # 2.36, of Debian 12

# What the standard library got after 3.11.2, which type checkers take for older because it was backported, and what is
# often reached for: module, name, the first version that has it, and what to do instead. mypy's `python_version` keeps
# all other names of newer minor versions out.
NEWER = (
    ("tarfile", "data_filter", (3, 11, 4), "read tars by worker/tar_extraction.py"),
    ("tarfile", "tar_filter", (3, 11, 4), "read tars by worker/tar_extraction.py"),
    ("tarfile", "fully_trusted_filter", (3, 11, 4), "read tars by worker/tar_extraction.py"),
    ("tarfile", "FilterError", (3, 11, 4), "read tars by worker/tar_extraction.py"),
    ("tarfile", "OutsideDestinationError", (3, 11, 4), "read tars by worker/tar_extraction.py"),
    ("tarfile", "TarInfo.replace", (3, 11, 4), "copy.copy it, and set what differs"),
    ("itertools", "batched", (3, 12), "slice"),
    ("pathlib", "Path.walk", (3, 12), "os.walk"),
    ("pathlib", "Path.is_junction", (3, 12), "it is Windows'"),
    ("pathlib", "Path.full_match", (3, 13), "match a pattern of our own"),
    ("pathlib", "Path.copy", (3, 14), "shutil.copy2"),
    ("pathlib", "Path.move", (3, 14), "Path.rename"),
    ("os", "process_cpu_count", (3, 13), "len(os.sched_getaffinity(0))"),
    ("typing", "override", (3, 12), "leave it out"),
    ("typing", "TypeIs", (3, 13), "typing.TypeGuard"),
    ("copy", "replace", (3, 13), "model_copy, or dataclasses.replace"),
    ("asyncio", "QueueShutDown", (3, 13), "put a last value into the queue"),
    ("asyncio", "Queue.shutdown", (3, 13), "put a last value into the queue"),
    ("asyncio", "eager_task_factory", (3, 12), "asyncio.create_task"),
    ("warnings", "deprecated", (3, 13), "say it in the docstring"),
    ("uuid", "uuid7", (3, 14), "workflows/domain/ids.py"),
)

DISTINCT = ("walk", "is_junction", "full_match")  # methods whose names nothing else of ours has

# function → keyword arguments that came later, as above
NEWER_ARGUMENTS = {
    ("extract", "filter"): ((3, 11, 4), "read tars by worker/tar_extraction.py"),
    ("extractall", "filter"): ((3, 11, 4), "read tars by worker/tar_extraction.py"),
    ("unpack_archive", "filter"): ((3, 11, 4), "read tars by worker/tar_extraction.py"),
    ("getaddresses", "strict"): ((3, 11, 10), "leave it out"),
    ("parseaddr", "strict"): ((3, 11, 10), "leave it out"),
    ("rmtree", "onexc"): ((3, 12), "onerror, or ignore_errors"),
    ("NamedTemporaryFile", "delete_on_close"): ((3, 12), "TemporaryDirectory"),
    ("TemporaryDirectory", "delete"): ((3, 12), "mkdtemp"),
    ("relative_to", "walk_up"): ((3, 12), "os.path.relpath"),
    ("glob", "case_sensitive"): ((3, 12), "match a pattern of our own"),
    ("rglob", "case_sensitive"): ((3, 12), "match a pattern of our own"),
    ("create_task", "eager_start"): ((3, 14), "leave it out"),
    ("map", "strict"): ((3, 14), "zip has it"),
}


class Package(NamedTuple):
    """A package of uv.lock, with the names of its wheels."""

    name: str
    wheels: tuple[str, ...]


def packages() -> list[Package]:
    """Without those that another one needs on Windows alone."""
    locked = tomllib.loads((ROOT / "uv.lock").read_text())["package"]
    needed = [each for package in locked for each in package.get("dependencies", ())]
    others = {each["name"] for each in needed if each.get("marker") == "sys_platform == 'win32'"}
    return [
        Package(each["name"], tuple(wheel["url"].rpartition("/")[2] for wheel in each.get("wheels", ())))
        for each in locked
        if "registry" in each["source"] and each["name"] not in others
    ]


def accepted(minor: int, machine: str) -> frozenset[Tag]:
    """The tags of wheels that such a Python installs on such a glibc machine."""
    platforms = [f"manylinux_2_{glibc}_{machine}" for glibc in range(5, OLDEST_GLIBC + 1)]
    platforms += [f"manylinux{old}_{machine}" for old in ("1", "2010", "2014")]
    own = cpython_tags((3, minor), [f"cp3{minor}"], platforms)
    return frozenset([*own, *compatible_tags((3, minor), f"cp3{minor}", platforms)])


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("minor", MINORS)
def test_every_package_has_a_wheel_for_every_python(minor: int, machine: str) -> None:
    tags = accepted(minor, machine)
    missing = [
        package.name
        for package in packages()
        if not any(tags & parse_wheel_filename(wheel)[3] for wheel in package.wheels)
    ]
    assert not missing, f"these have none for Python 3.{minor} on {machine}; take others: {missing}"


def test_what_is_declared_is_what_is_supported() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    declared = SpecifierSet(project["project"]["requires-python"])

    assert declared == SpecifierSet(f">={'.'.join(map(str, OLDEST))},<3.{MINORS[-1] + 1}")
    assert project["tool"]["mypy"]["python_version"] == f"3.{MINORS[0]}"
    assert project["tool"]["ruff"]["target-version"] == f"py3{MINORS[0]}"


def sources() -> Iterator[tuple[str, ast.Module]]:
    for folder in CODE:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield str(path.relative_to(ROOT)), ast.parse(path.read_text("utf-8"))


def test_nothing_is_used_that_came_after_the_oldest_python() -> None:
    wrong = [
        f"{path}:{line}: {what} came with Python {'.'.join(map(str, since))}: {instead}."
        for path, tree in sources()
        for line, what, since, instead in newer(tree)
    ]
    assert not wrong, "\n".join(wrong)


Found = tuple[int, str, tuple[int, ...], str]


def newer(tree: ast.Module) -> Iterator[Found]:
    """A file's uses of the tables: where, what, since when, and what to do instead."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from named(node.lineno, [(str(node.module), alias.name) for alias in node.names])
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield from named(node.lineno, [(node.value.id, node.attr)])
        if isinstance(node, ast.Call):
            yield from called(node)


def named(line: int, names: list[tuple[str, str]]) -> Iterator[Found]:
    for module, name, since, instead in NEWER:
        if (module, name) in names:
            yield line, f"{module}.{name}", since, instead


def called(call: ast.Call) -> Iterator[Found]:
    """Methods and arguments, by name only: their objects are unknown here."""
    receiver, _, function = ast.unparse(call.func).rpartition(".")
    for _, name, since, instead in NEWER:
        if name == f"Path.{function}" and function in DISTINCT and receiver not in ("os", "ast", ""):
            yield call.lineno, name, since, instead
    for word in call.keywords:
        if (function, word.arg) in NEWER_ARGUMENTS:
            yield call.lineno, f"{function}({word.arg}=)", *NEWER_ARGUMENTS[function, str(word.arg)]


@pytest.mark.parametrize("module, name, since", [entry[:3] for entry in NEWER])
def test_the_table_of_newer_names_is_true_here(module: str, name: str, since: tuple[int, ...]) -> None:
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part, None)

    assert (found is not None) == (sys.version_info[:3] >= since)


@pytest.mark.parametrize(
    "source, what",
    [
        ("import tarfile\ntar.extract('a', filter='data')", "extract(filter=)"),
        ("from itertools import batched", "itertools.batched"),
        ("import itertools\nitertools.batched('abc', 2)", "itertools.batched"),
        ("for root, folders, files in directory.walk(): ...", "Path.walk"),
        ("shutil.rmtree(path, onexc=print)", "rmtree(onexc=)"),
    ],
)
def test_what_came_later_is_found(source: str, what: str) -> None:
    assert [found[1] for found in newer(ast.parse(source))] == [what]
