"""One name, one meaning: names in use, and retired ones."""

import ast
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
ROOMS: Final = ("workflows", "activities", "worker", "prompts")
RETIRED: Final = json.loads((ROOT / "tests/data/retired_names.json").read_text())
SHARED_MODULES: Final = {  # one noun, seen by several rooms
    *("asks", "budgets", "deltas", "events", "grants", "messages", "outbox", "postgres", "sessions", "temporal"),
    *(
        "calls",
        "compact",
        "compactions",
        "copies",
        "generations",
        "mcp",
        "prepare",
        "projects",
        "prompts",
        "reconcile",
        "trust",
        "turns",
    ),
    *("run", "schedules", "skills", "statistics", "stops", "task", "tasks", "titles", "waits"),
}
PRIVATE_WORDS: Final = {
    *("beside", "chapter", "chores", "docket", "doubt", "errand", "handover", "heard"),
    *("interview", "judge", "keeper", "leaving", "neighbour", "neighbours", "parked", "parking", "posture", "presence"),
    *(
        "rang",
        "relay",
        "ring",
        "said",
        "stance",
        "standing",
        "standings",
        "surroundings",
        "surveyor",
        "tell",
        "told",
        "unheard",
    ),
    *("unparked", "whereabouts"),
}


def sources() -> Iterator[tuple[str, ast.Module]]:
    for room in ROOMS:
        for file in sorted((ROOT / room).rglob("*.py")):
            yield str(file.relative_to(ROOT)), ast.parse(file.read_text())


def public_definitions(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.Assign(targets=[ast.Name(id=name)]):
                yield name


def all_names(tree: ast.Module) -> Iterator[str]:
    """Also of methods, parameters and variables."""
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


def words_of(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]


def test_a_public_class_name_has_one_definition() -> None:
    found = defaultdict(list)
    for path, tree in sources():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(path)
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}


def test_modules_of_one_name_mean_the_same() -> None:
    found = defaultdict(list)
    for path, _ in sources():
        found[Path(path).stem].append(path)
    several = {name for name, paths in found.items() if len(paths) > 1} - {"__init__"}
    assert several <= SHARED_MODULES, "name what the module is in its room, or add the noun that it shares"


def test_retired_modules_and_names_do_not_come_back() -> None:
    defined = {path: set(public_definitions(tree)) for path, tree in sources()}
    assert [path for path in RETIRED["modules"] if (ROOT / path).exists()] == []
    retired = [entry.split(":") for entry in RETIRED["names"]]
    assert [f"{path}:{name}" for path, name in retired if name in defined.get(path, ())] == []


def test_retired_columns_tables_and_events_do_not_come_back() -> None:
    schema = "".join(file.read_text() for file in sorted((ROOT / "activities/store/migrations").glob("*.sql")))
    tables = dict(re.findall(r"(?ms)^CREATE (?:UNLOGGED )?TABLE (\w+) \((.*?)^\)", schema))
    assert [table for table in RETIRED["tables"] if table in tables] == []
    columns = [column.split(".") for column in RETIRED["columns"]]
    assert [name for table, name in columns if re.search(rf"(?m)^    {name} ", tables[table])] == []
    events = "".join(file.read_text() for file in (ROOT / "workflows/domain/events").glob("*.py"))
    assert [event for event in RETIRED["events"] if f'"{event}"' in events] == []


def test_names_hold_no_private_words() -> None:
    found = [
        f"{path}:{name}"
        for path, tree in sources()
        for name in (Path(path).stem, *all_names(tree))
        if PRIVATE_WORDS & {*words_of(name)}
    ]
    assert found == []
