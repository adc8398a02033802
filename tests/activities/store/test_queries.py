"""Named queries: each is documented and used, and each used name exists."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from activities.store.queries import Queries

ROOT = Path(__file__).parents[3]
FILES = sorted((ROOT / "activities" / "store" / "queries").glob("*.sql"))
SOURCES = [path for folder in ("activities", "worker", "bench") for path in (ROOT / folder).rglob("*.py")]


def test_a_query_is_the_text_below_its_name_and_its_sentence() -> None:
    assert Queries("stops").find == b"SELECT turn FROM stop WHERE id = %(id)s"


def test_an_unknown_name_is_reported_with_its_file() -> None:
    with pytest.raises(AttributeError, match=r"queries/stops.sql has no query named 'fnid'"):
        _ = Queries("stops").fnid


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_query_has_one_sentence(file: Path) -> None:
    for piece in file.read_text().split("-- name: ")[1:]:
        assert re.match(r"\w+\n-- [A-Z].*\.\n", piece), piece


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_no_query_looks_into_json(file: Path) -> None:
    """PostgreSQL refuses it for a body with NUL or a lone surrogate: write what SQL has to know into a column."""
    looks = re.compile(r"->|#>|@[>?]|::jsonb?\b|\bjsonb?_(?!build_object\b)\w+|to_jsonb\b|::text\s*(?:~|!?~~|I?LIKE)")
    assert looks.findall(re.sub(r"--.*", "", file.read_text())) == []


def test_the_names_that_the_code_uses_are_the_queries_that_exist() -> None:
    named = {(file.stem, name) for file in FILES for name in re.findall(r"^-- name: (\w+)$", file.read_text(), re.M)}
    assert {use for source in SOURCES for use in uses(ast.parse(source.read_text()))} == named


def uses(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """File and name of each query of a module, directly or by a constant: `Queries("x").y`, `_X.y`."""
    assigned = [node for node in tree.body if isinstance(node, ast.AnnAssign)]
    nouns = {ast.unparse(each.target): noun for each in assigned if (noun := noun_of(each.value))}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            noun = noun_of(node.value) or nouns.get(ast.unparse(node.value))
            if noun is not None:
                yield noun, node.attr


def noun_of(value: ast.expr | None) -> str | None:
    """The file that `Queries("x")` opens."""
    match value:
        case ast.Call(func=ast.Name(id="Queries"), args=[ast.Constant(value=str(noun))]):
            return noun
    return None
