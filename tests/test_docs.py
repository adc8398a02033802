"""The documentation is true: its commands, variables, links, paths and deployment files exist."""

import importlib.util
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import click
import pytest

from activities import failpoints
from activities.shell.environment import CALL_VARIABLE
from tests.acceptance.matrix import faults_page as faults
from worker.cli.main import commands
from worker.config_schema import OTHER_FIELDS
from worker.settings import Settings
from workflows.domain.config import fields
from workflows.domain.config.config import Experimental
from workflows.domain.config.provider_settings import Provider, ProviderModel

ROOT = Path(__file__).resolve().parent.parent
DEPLOY = ROOT / "docs" / "deploy"
FOLDERS = ("workflows", "activities", "prompts", "worker", "tests", "bench", "docs", "findings")
BY_FILE = {"HOLDFAST_POSTGRES_URL_FILE"}  # settings whose values stand in files
OTHERS = {failpoints.VARIABLE, failpoints.TEST_VARIABLE, "HOLDFAST_CASES", CALL_VARIABLE}  # no settings

LONGEST_FINDING = 80  # lines

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
ROW = re.compile(r"^\| (.+?) \|$", re.MULTILINE)
BEFORE = re.compile(r"^(\$ |\w+=\S+ |docker compose run .*?\bcli )*")  # what may stand before a command of ours


@dataclass(frozen=True)
class Page:
    """A page of the documentation."""

    path: Path

    @property
    def text(self) -> str:
        return self.path.read_text("utf-8")

    @property
    def prose(self) -> str:
        return BLOCK.sub("", self.text)

    @property
    def spans(self) -> list[str]:
        return SPAN.findall(self.prose)

    @property
    def lines(self) -> Iterator[str]:
        """The lines of its shell examples."""
        for language, body in BLOCK.findall(self.text):
            if language in ("sh", "bash", "console"):
                yield from body.splitlines()

    @property
    def anchors(self) -> set[str]:
        titles = re.findall(r"^#+ (.+)$", self.prose, re.MULTILINE)
        return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}

    def cells(self) -> list[list[str]]:
        """The rows of all tables."""
        return [row.split(" | ") for row in ROW.findall(self.text.replace("| |", "|  |"))]


def pages() -> list[Page]:
    folders = (ROOT / "docs").rglob("*.md"), (ROOT / "findings").glob("*.md")
    return [Page(path) for path in sorted([*ROOT.glob("*.md"), *chain(*folders)])]


def every_page() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.path.relative_to(ROOT)))


def words(line: str) -> list[str] | None:
    """The words of our command in a line, up to the next program; None without one."""
    ours, said = "holdfast ", BEFORE.sub("", line)
    if "docker compose run" in line and not said.startswith("docker"):
        said = f"{ours}{said}"
    if not said.startswith(ours):
        return None
    lexer = shlex.shlex(said.removeprefix(ours), posix=True, punctuation_chars="|&;<>·")
    lexer.whitespace_split = True
    found = list(lexer)
    end = next((place for place, word in enumerate(found) if set(word) <= set("|&;<>·")), len(found))
    return [word.strip("[]") for word in found[:end]]


def resolve(typed: list[str]) -> tuple[click.Command, list[str]]:
    """The command, and its remaining words. Raises UsageError for an unknown one."""
    command: click.Command = commands
    rest = typed
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        _, found, rest = command.resolve_command(click.Context(command), rest)
        assert found is not None
        command = found
    return command, rest


def options(command: click.Command) -> set[str]:
    return {name for parameter in command.get_params(click.Context(command)) for name in parameter.opts}


@every_page()
def test_every_command_exists_with_its_options(page: Page) -> None:
    for text in (*page.spans, *page.lines):
        typed = words(text)
        if not typed:
            continue
        try:
            command, rest = resolve(typed)
        except click.UsageError as error:
            pytest.fail(f"{page.path.name}: {text!r}: {error.format_message()}")
        unknown = {word.partition("=")[0] for word in rest if word.startswith("-") and word != "-"} - options(command)
        assert not unknown, f"{page.path.name}: {text!r}: `{command.name}` does not know {', '.join(sorted(unknown))}."


@every_page()
def test_every_example_can_be_typed_as_it_stands(page: Page) -> None:
    for line in page.lines:
        typed = words(line)
        if not typed:
            continue
        try:
            command, rest = resolve(typed)
            command.make_context(str(command.name), rest)
        except click.exceptions.Exit:
            continue  # --help and --version end by themselves
        except click.UsageError as error:
            pytest.fail(f"{page.path.name}: {line!r}: {error.format_message()}")


@every_page()
def test_every_link_leads_somewhere(page: Page) -> None:
    for link in LINK.findall(page.prose):
        if link.startswith(("https://", "http://")):
            continue
        name, _, anchor = link.partition("#")
        target = (page.path.parent / name).resolve() if name else page.path
        assert target.exists(), f"{page.path.name} links to {link!r}, and there is no {target}."
        assert not anchor or anchor in Page(target).anchors, f"{page.path.name}: {name} has no heading #{anchor}."


@every_page()
def test_every_path_that_is_named_exists(page: Page) -> None:
    named = [span for span in page.spans if re.fullmatch(rf"({'|'.join(FOLDERS)})/[\w./-]*", span)]
    missing = [name for name in named if not (ROOT / name).exists()]
    assert not missing, f"{page.path.name} names {', '.join(missing)}."


def test_every_finding_has_the_form_that_its_page_gives() -> None:
    scripts = sorted((ROOT / "findings").glob("*.sh"))
    texts = {path: path.read_text("utf-8").splitlines() for path in scripts}
    pinned = re.compile(r'pip"? install .*==')
    wrong = [
        path.name
        for path, lines in texts.items()
        if not (
            path.stat().st_mode & 0o111
            and len(lines) <= LONGEST_FINDING
            and {"#!/usr/bin/env bash", "set -euo pipefail", 'echo "as stated"'} <= set(lines)
            and all(any(line.startswith(word) for line in lines) for word in ("# Guessed: ", "# Seen with ", "# So "))
            and any(map(pinned.search, lines))
        )
    ]
    assert scripts and not wrong, f"see findings/README.md: {', '.join(wrong)}"


@every_page()
def test_every_make_target_exists(page: Page) -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = {target for text in (*page.spans, *page.lines) for target in re.findall(r"(?:^|&& )make ([\w-]+)", text)}
    assert named <= targets, f"{page.path.name} names `make {', '.join(sorted(named - targets))}`."


@every_page()
def test_every_module_that_is_run_exists(page: Page) -> None:
    named = re.findall(r"python -P -m ([\w.]+)", page.text)
    missing = [name for name in named if importlib.util.find_spec(name) is None]
    assert not missing, f"{page.path.name} runs {', '.join(missing)}."


@every_page()
def test_every_variable_is_a_setting(page: Page) -> None:
    unknown = set(re.findall(r"\bHOLDFAST_[A-Z_]+", page.text)) - defaults().keys() - BY_FILE - OTHERS
    assert not unknown, f"{page.path.name} names {', '.join(sorted(unknown))}."


@cache
def defaults() -> dict[str, Any]:
    """The variables that Settings reads, with their defaults."""
    elsewhere = {"config", "environment"}
    known = Settings.model_fields.items()
    return {str(field.validation_alias): field.default for name, field in known if name not in elsewhere}


def test_every_setting_is_documented_with_its_default() -> None:
    rows = {row[0].strip("`"): row[1].strip(" `") for row in Page(ROOT / "docs" / "configuration.md").cells()}
    documented = {name: default for name, default in rows.items() if name.startswith("HOLDFAST_")}
    simple = {name: value for name, value in defaults().items() if isinstance(value, str | int | float)}

    assert documented.keys() == defaults().keys()
    assert {name: documented[name] for name in simple} == {name: shown(value) for name, value in simple.items()}


def shown(value: str | int | float) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)


def test_what_is_called_honoured_is_honoured() -> None:
    section = text_between("## What is honoured", "### Older forms")
    named = re.findall(r"`([\w.*]+)`", "\n".join(line.split(" | ")[0] for line in section.splitlines()))

    dead = [name for name in named if fields.unsupported_fields(fields.with_value_at({}, tuple(name.split(".")), "x"))]

    missing = {".".join(path) for path in fields.SUPPORTED_FIELDS} - {*named, *fields.CLIENT_FIELDS, "agent.*.maxSteps"}

    assert not dead
    assert not missing - set(re.findall(r"`([\w.*]+)`", section))


def fields_of_rows(section: str) -> set[str]:
    rows = [line.split(" | ")[0] for line in section.splitlines() if line.startswith("| `")]
    return set(re.findall(r"`([\w.*$]+)`", "\n".join(rows)))


def test_every_field_that_has_no_effect_is_named_with_its_reason() -> None:
    others = fields_of_rows(text_between("### For other programs", "### Known, and"))
    named = fields_of_rows(text_between("### Known, and", "### Files that"))
    below = {Provider: "provider.*", ProviderModel: "provider.*.models.*", Experimental: "experimental"}
    nested = {f"{below[model]}.{name}" for model, names in OTHER_FIELDS.items() for name in names}
    top = {name for name in fields.KNOWN_FIELDS if fields.unsupported_fields({name: "x"}) == ((name,),)}

    assert others == {*fields.CLIENT_FIELDS}
    assert named == nested | {name for name in top if (name,) not in {path[:1] for path in fields.SUPPORTED_FIELDS}}


def text_between(begin: str, end: str) -> str:
    text = Page(ROOT / "docs" / "configuration.md").text
    return text[text.index(begin) : text.index(end, text.index(begin))]


def test_what_shows_that_a_fault_is_survived_is_named_and_there() -> None:
    template = Page(faults.TEMPLATE)
    rows = [row for row in template.cells() if not re.search(r"`|not tested|shown by|p95|\$|:$", row[-1])]

    assert {span for span in template.spans if re.fullmatch(r"row_\d\d|b\d\d", span)} == set(faults.tests_by_row())
    assert rows == []


def test_the_page_of_faults_is_made_of_its_template_and_the_figures() -> None:
    assert faults.PAGE.read_text("utf-8") == faults.page(), "write it anew: make faults-page"
