"""Every case file is played, or listed as not built yet."""

import ast
from collections import defaultdict
from pathlib import Path

from tests.cases import UNPLAYED, UNPLAYED_OPERATIONS, Case, document

TESTS = Path(__file__).parent
FILES = {path.stem for path in (TESTS / "data" / "cases").rglob("*.json")}
LOADING = ("load", "entries", "document")


def loaded() -> dict[str, list[dict[str, str]]]:
    """The case files that tests load, each with what it is narrowed to (nothing: the whole file)."""
    found = defaultdict(list)
    for path in TESTS.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Call(
                    func=ast.Name(id=name) | ast.Attribute(value=ast.Name(id="cases"), attr=name),
                    args=[ast.Constant(value=str(file)), *_],
                ) if name in LOADING:
                    narrowed = {each.arg: each.value for each in node.keywords if each.arg in ("op", "tool")}
                    found[file].append({key: ast.literal_eval(value) for key, value in narrowed.items() if key})
    return found


def test_every_case_file_is_loaded_by_a_test_or_named_as_not_built() -> None:
    known = loaded()

    assert FILES - known.keys() - UNPLAYED.keys() == set(), "load them in a test, or name them in tests.cases.UNPLAYED"
    assert UNPLAYED.keys() & known.keys() == set() and UNPLAYED.keys() <= FILES


def test_every_entry_of_a_loaded_file_is_chosen_by_a_test() -> None:
    known = loaded()
    missed = [
        (file, number)
        for file in sorted(FILES & known.keys())
        for number, fields in enumerate(document(file), start=1)
        if not any(
            case.op in (None, chosen.get("op", case.op)) and case.tool in (None, chosen.get("tool", case.tool))
            for chosen in known[file]
            for case in [Case(file, number, fields if isinstance(fields, dict) else {})]
        )
        and (file, fields["input"].get("op")) not in UNPLAYED_OPERATIONS
    ]

    assert missed == []
