"""The parts of a worker."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from pydantic import BaseModel
from temporalio import activity, workflow

from activities.calls.description import describe_nothing
from activities.credentials.keys import Keys
from activities.model.wires.router import WireRouter
from activities.store.database import Database
from worker.assemble import WORKFLOWS, build_activities, call_describer, workflow_runner
from worker.credential_handoff import hand_off
from worker.redaction import redactor
from worker.settings import Settings, SummaryDetail
from workflows.domain.ids import SessionId
from workflows.domain.wake_signal import Wake


def settings(home: Path, **environment: str) -> Settings:
    return Settings.read({"HOME": str(home), "HOLDFAST_HOME": str(home / "data"), **environment})


async def nobody(_: SessionId) -> None:
    """A missing engine."""


def name(function: Callable[..., Any]) -> str:
    definition = activity._Definition.must_from_callable(function)
    assert definition.name is not None
    return definition.name


def test_every_activity_carries_the_projects_name(tmp_path: Path) -> None:
    made = build_activities(settings(tmp_path), Database("postgresql://nowhere"), WireRouter({}), nobody)
    names = [name(function) for function in made]
    assert len(set(names)) == 11 and all(each.startswith("holdfast.") for each in names)


def test_whatever_crosses_releases_ignores_the_fields_of_a_newer_one(tmp_path: Path) -> None:
    activities = build_activities(settings(tmp_path), Database("postgresql://nowhere"), WireRouter({}), nobody)
    definitions = [workflow._Definition.must_from_class(each) for each in WORKFLOWS]
    handlers: list[Callable[..., Any]] = [each.run_fn for each in definitions]
    handlers += [each.fn for found in definitions for each in found.signals.values()]
    handlers += [each.fn for found in definitions for each in found.updates.values()]
    hints = [hint for each in (*activities, *handlers) for hint in get_type_hints(each).values()]
    models = models_in((*hints, Wake))  # its handler takes any arguments
    assert {"SessionState", "Wake", "LoadResult", "Finding", "TurnLimits"} <= {each.__name__ for each in models}
    assert [each.__name__ for each in models if each.model_config.get("extra") == "forbid"] == []


def models_in(hints: Iterable[Any]) -> set[type[BaseModel]]:
    """The models in these types, and in their fields."""
    found: set[type[BaseModel]] = set()
    left = list(hints)
    while left:
        each = left.pop()
        left += get_args(each)
        if isinstance(each, type) and issubclass(each, BaseModel) and each not in found:
            found.add(each)
            left += get_type_hints(each).values()
    return found


@pytest.mark.parametrize(
    ("environment", "full"),
    [
        ({}, False),
        ({"TEMPORAL_ADDRESS": "elsewhere:7233"}, False),
        ({"HOLDFAST_SUMMARIES": SummaryDetail.NAMES}, False),
        ({"HOLDFAST_SUMMARIES": SummaryDetail.FULL}, True),
        ({"HOLDFAST_SUMMARIES": SummaryDetail.FULL, "TEMPORAL_ADDRESS": "elsewhere:7233"}, True),
    ],
)
def test_temporal_is_told_more_than_names_only_where_a_setting_says_so(
    tmp_path: Path, environment: dict[str, str], full: bool
) -> None:
    assert (call_describer(settings(tmp_path, **environment)) is not describe_nothing) == full


def test_the_sandbox_lets_both_of_our_packages_pass() -> None:
    passed = workflow_runner().restrictions.passthrough_modules
    assert {"activities", "workflows.domain"} <= passed


async def test_every_key_that_a_worker_may_get_is_kept_out(tmp_path: Path) -> None:
    own = settings(tmp_path, DATABASE_PASSWORD="in-its-environment", MY_KEY="handed-over-by-a-shell")
    redact = redactor(own)
    await hand_off(own, ["MY_KEY"])
    Keys(own.auth).set("anthropic", "stored-by-a-login")

    said = redact.text("in-its-environment, handed-over-by-a-shell, stored-by-a-login")

    assert said == "in-[redacted], han[redacted], sto[redacted]"


def test_a_damaged_file_of_keys_keeps_nothing_else_from_being_kept_out(tmp_path: Path) -> None:
    own = settings(tmp_path, DATABASE_PASSWORD="in-its-environment")
    own.auth.parent.mkdir(parents=True)
    own.auth.write_text("{")
    own.auth.chmod(0o600)
    assert redactor(own).text("in-its-environment") == "in-[redacted]"
