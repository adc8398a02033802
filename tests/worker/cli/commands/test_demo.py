"""The demo's files and settings, and its checks: each can fail, and does when its subject is wrong."""

import json
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from activities.tools.edit.substitute import substitute
from worker.cli.commands import demo as demo_script
from worker.cli.commands.demo import Demo
from worker.scripted.request_ledger import RequestRecord, StreamEnd
from worker.settings import Settings
from workflows.domain.actor import Actor
from workflows.domain.events.asks import AskAnswered, AskRaised
from workflows.domain.events.event import Event, EventRecord
from workflows.domain.events.generations import MessageCompleted
from workflows.domain.events.turns import TurnEnded
from workflows.domain.ids import AskId, GenerationId, MessageId, PartId, SessionId, TurnId
from workflows.domain.usage import Cost, Tokens
from workflows.domain.views.sessions import Totals, Verification

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
SESSION, TURN = SessionId("ses_1"), TurnId("trn_1")


@pytest.fixture
def demo(tmp_path: Path) -> Demo:
    """Prepared as for a user with servers, settings and a repository of their own."""
    environment = {
        "HOME": str(tmp_path),
        "PATH": "/usr/bin:/bin",
        "HOLDFAST_HOME": str(tmp_path / "mine"),
        "HOLDFAST_POSTGRES_URL": "postgresql://mine",
        "HOLDFAST_START_SECONDS": "77",
        "TEMPORAL_ADDRESS": "mine:7233",
        "HOLDFAST_WORKER": "false",
        "GIT_DIR": str(tmp_path / "mine" / ".git"),
    }
    prepared = Demo(Settings.read(environment))
    prepared.write_files("http://127.0.0.1:1/v1")
    return prepared


def test_it_is_beside_what_is_the_users(demo: Demo, tmp_path: Path) -> None:
    assert demo.settings.home == tmp_path / "mine-demo" / "stack"
    assert demo.folder.parent == tmp_path / "mine-demo" / "plays"
    assert demo.settings.postgres_url is None and demo.settings.external_temporal is None
    assert demo.settings.worker and "GIT_DIR" not in demo.settings.environment
    assert demo.settings.start_seconds == 77
    config = json.loads((demo.settings.config / "opencode.json").read_text())
    assert config["provider"]["demo"]["options"]["baseURL"] == "http://127.0.0.1:1/v1"


def test_its_test_fails_before_the_edit_and_passes_after_it_and_a_second_edit_would_show(demo: Demo) -> None:
    module = demo.repository / demo_script.MODULE
    (edit,) = [calls["edit"] for _, calls in demo_script.ANSWERS if "edit" in calls]

    def ended() -> int:
        return subprocess.run(
            demo_script.TEST.split(), cwd=demo.repository, capture_output=True, check=False
        ).returncode

    def edited() -> str:
        return substitute(module.read_text(), str(edit["oldString"]), str(edit["newString"]))[0]

    assert ended() == 1
    module.write_text(edited())
    assert ended() == 0 and module.read_text() == demo_script.FIXED_MODULE != edited()


@pytest.mark.parametrize(
    ("module", "code"), [(demo_script.FILES[demo_script.MODULE], 1), (demo_script.FIXED_MODULE, 0)]
)
def test_its_command_waits_for_the_gate_and_ends_with_the_tests_code(demo: Demo, module: str, code: int) -> None:
    (demo.repository / demo_script.MODULE).write_text(module)
    with subprocess.Popen(demo_script.COMMAND.split(), cwd=demo.repository, stderr=subprocess.DEVNULL) as process:
        while not demo.effects.read_text():
            assert process.poll() is None
        (demo.folder / "gate").touch()
        assert process.wait() == code
    assert demo.effects.read_text() == f"start {process.pid}\nend {process.pid}\n"


def completed(step: int) -> Event:
    return MessageCompleted(
        generation=GenerationId(f"gen_{step}"),
        message=MessageId(f"msg_{step}"),
        turn=TURN,
        step=step,
        finish="stop",
        tokens=Tokens(),
        cost="0",
    )


def asked(ask: str) -> Event:
    return AskRaised(ask=AskId(ask), call=PartId("prt_1"), permissions=("edit",), digest="d")


def answered(ask: str) -> Event:
    return AskAnswered(ask=AskId(ask), call=PartId("prt_1"), reply="once", digest="d")


def request(n: int, step: int, end: StreamEnd = StreamEnd.COMPLETE) -> RequestRecord:
    began = BEGAN + timedelta(seconds=n)
    return RequestRecord(
        n=n,
        attempt=1,
        script="default",
        step=step,
        messages="",
        began=began,
        ended=began + timedelta(seconds=0.5),
        end=end,
        chunks=9,
    )


def add(demo: Demo, *events: Event) -> None:
    actor, at = Actor(subject="me@here", method="cli"), BEGAN.isoformat()
    first = len(demo.records) + 1
    demo.records += [
        EventRecord(session=SESSION, seq=seq, at=at, actor=actor, event=event)
        for seq, event in enumerate(events, first)
    ]
    demo.verified = Verification(session=SESSION, events=len(demo.records), head="ab" * 32)


def write_requests(demo: Demo, *further: RequestRecord) -> None:
    """The title's, each answer's, the interrupted one's twice; written when they end, the cut one's late."""
    title, cut = request(1, -1), demo_script.INTERRUPTED
    whole = [request(10 * (step + 1), step) for step in range(len(demo_script.ANSWERS))]
    requests = [title, *whole, request(10 * (cut + 1) - 1, cut, StreamEnd.CLIENT_LEFT), *further]
    demo.requests.write_text("".join(f"{each.model_dump_json()}\n" for each in requests))


@pytest.fixture
def played(demo: Demo) -> Demo:
    """A demo without a flaw."""
    write_requests(demo)
    add(demo, *(completed(step + 1) for step in range(len(demo_script.ANSWERS))))
    add(demo, asked("per_0"), answered("per_0"), asked("per_1"), answered("per_1"), TurnEnded(turn=TURN, reason="done"))
    demo.kills, demo.survivor = [1, 18, 1], 77
    demo.effects.write_text("start 77\nend 77\n")
    (demo.repository / demo_script.MODULE).write_text(demo_script.FIXED_MODULE)
    demo.git_status, demo.tests = f"M {demo_script.MODULE}", ["Traceback\nAssertionError: x", "OK"]
    used = [Tokens(total=2050, input=2000, output=50)] * (len(demo_script.ANSWERS) + 1)  # with the title
    cost = Cost(dollars=(10_000 * Decimal(3) + 250 * Decimal(15)) / 1_000_000)
    demo.totals = Totals(steps=4, tokens=sum(used, Tokens()), cost=cost)
    return demo


def failing(demo: Demo) -> list[str]:
    return [claim for claim, holds, _ in demo.run_checks() if not holds]


def test_a_demo_without_a_flaw_passes_every_check(played: Demo) -> None:
    assert failing(played) == [] and len(list(played.run_checks())) == 8


def changed(**fields: object) -> Callable[[Demo], object]:
    return lambda demo: vars(demo).update(fields)


def noted(text: str) -> Callable[[Demo], object]:
    return lambda demo: demo.effects.write_text(text)


def asks_again(*further: RequestRecord) -> Callable[[Demo], object]:
    return lambda demo: write_requests(demo, *further)


PAID, RAN, EDITED = "Each answer was paid once", "The command ran once", "The edit was made once"
BROKEN: list[tuple[str, Callable[[Demo], object]]] = [
    (PAID, asks_again(request(50, 0))),
    (PAID, asks_again(request(50, 0, StreamEnd.CLIENT_LEFT))),
    (PAID, asks_again(request(50, 9, StreamEnd.MALFORMED))),
    (PAID, lambda demo: demo.requests.write_text("")),
    (PAID, lambda demo: add(demo, completed(2))),
    ("Tokens and cost", lambda demo: changed(totals=demo.totals.model_copy(update={"cost": Cost()}))(demo)),
    ("Tokens and cost", lambda demo: changed(totals=demo.totals.model_copy(update={"tokens": Tokens(total=1)}))(demo)),
    (RAN, noted("start 77\nend 77\nstart 78\n")),
    (RAN, noted("start 77\n")),
    (RAN, noted("")),
    (RAN, changed(survivor=None)),
    (RAN, changed(survivor=78)),
    (EDITED, lambda demo: (demo.repository / demo_script.MODULE).write_text("twice")),
    (EDITED, changed(git_status=f"M {demo_script.MODULE}\n?? b")),
    ("The test that failed passes", changed(tests=["AssertionError", "AssertionError"])),
    ("The test that failed passes", changed(tests=["OK", "OK"])),
    ("Each question was asked once", lambda demo: add(demo, answered("per_0"))),
    ("Each question was asked once", lambda demo: add(demo, asked("per_2"))),
    ("The session went on by itself", changed(kills=[1, 18])),
    ("The session went on by itself", lambda demo: add(demo, TurnEnded(turn=TURN, reason="failed"))),
    ("The audit log is whole", changed(verified=Verification(session=SESSION, events=9, head="", problem="gap"))),
    ("The audit log is whole", changed(verified=Verification(session=SESSION, events=8, head=""))),
    ("The audit log is whole", lambda demo: demo.records.reverse()),
]


@pytest.mark.parametrize(("claim", "break_it"), BROKEN, ids=[f"{n} {claim}" for n, (claim, _) in enumerate(BROKEN)])
def test_a_flaw_is_named_by_its_check(played: Demo, claim: str, break_it: Callable[[Demo], object]) -> None:
    break_it(played)
    assert any(each.startswith(claim) for each in failing(played))
