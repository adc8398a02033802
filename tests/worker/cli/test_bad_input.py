"""Bad input: each command says what is wrong, where, and what to do, and changes nothing."""

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.worker.cli.conftest import PROGRAM, CommandResult, CommandRunner, OpenHarness, shell
from worker.cli.id_lookup import not_found_error
from worker.scripted.script import ScriptedAnswer
from workflows.domain.ids import Prefix

HELLO = ScriptedAnswer(text="Hello.")
NOBODY = "0" * 26
NO_PLACE = "127.0.0.1:1"
ASK, GRANT, SESSION = (f"{prefix}_{NOBODY}" for prefix in (Prefix.ASK, Prefix.GRANT, Prefix.SESSION))
TAKES_A_SESSION = (
    ("watch", "{}"),
    ("send", "{}", "hello"),
    ("run", "-m", "scripted/model", "-s", "{}", "hello"),
    ("retry", "{}"),
    ("stop", "{}"),
    ("end", "{}"),
    ("log", "{}"),
    ("export", "{}"),
    ("asks", "-s", "{}"),
    ("sessions", "show", "{}"),
)


async def tried(person: CommandRunner, words: Sequence[str], typed: str) -> CommandResult:
    return await person.run(*(word.format(typed) for word in words))


async def test_every_command_that_takes_a_session_refuses_an_unknown_one(open_harness: OpenHarness) -> None:
    async with open_harness() as harness:
        person = shell(harness)
        ended = [await tried(person, words, SESSION) for words in TAKES_A_SESSION]
        assert await harness.client.sessions.list_recent() == []

    assert [each.code for each in ended] == [2] * len(TAKES_A_SESSION)
    wrong = [each.err for each in ended if f"There is no session '{SESSION}'. `holdfast sessions`" not in each.err]
    assert not wrong


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ('"$0" version >&-', 0, ""),
        ('"$0" fly 2>&-', 2, ""),
        ('"$0" run -m one/ "mend it" <&- >&-', 2, "names no model after"),
        ('"$0" --help >/dev/full', 2, "holdfast: The output cannot be written: No space left on device.\n"),
        ('"$0" fly 2>/dev/full', 2, ""),
        (f'"$0" run -m a/b --file {"a" * 300} "mend it"', 2, "cannot be used: File name too long.\n"),
        ('rmdir "$PWD" && "$0" backup x.tar', 2, "The current directory no longer exists"),
    ],
)
async def test_what_the_system_refuses_is_no_bug(bare: CommandRunner, line: str, code: int, said: str) -> None:
    process = await asyncio.create_subprocess_exec(
        "/bin/sh", "-c", line, PROGRAM, cwd=bare.directory, env=bare.environment, stdout=DEVNULL, stderr=PIPE
    )
    _, err = await process.communicate()

    assert (process.returncode, said in err.decode()) == (code, True) and b"Traceback" not in err, err


async def test_a_deleted_working_directory_is_an_error_with_its_reason(bare: CommandRunner) -> None:
    gone = bare.directory / "gone"
    gone.mkdir()
    in_it = (
        f"import os, sys; os.rmdir({str(gone)!r}); os.execv({str(PROGRAM)!r}, ['holdfast', 'run', '-m', 'a/b', 'hi'])"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", in_it, cwd=gone, env=bare.environment, stderr=asyncio.subprocess.PIPE
    )
    _, err = await process.communicate()

    assert process.returncode == 2 and b"no longer exists" in err and b"Traceback" not in err


@pytest.mark.parametrize(
    ("wanted", "typed", "said"),
    [
        (Prefix.SESSION, ASK, f"'{ASK}' is the id of an ask, but a session is meant here. `holdfast sessions`"),
        (Prefix.ASK, SESSION, f"'{SESSION}' is the id of a session, but an ask is meant here. `holdfast asks`"),
        (Prefix.GRANT, ASK, f"'{ASK}' is the id of an ask, but a grant is meant here. `holdfast grants`"),
        (Prefix.SESSION, "SES_AB", "Upper and lower case count: is ses_abC1 meant?"),
        (Prefix.SESSION, "Abc1", "Upper and lower case count: is ses_abC1 meant?"),
        (Prefix.SESSION, "", "There is no session ''."),
        (Prefix.SESSION, "a\x1b[2Jb", r"There is no session 'a\x1b[2Jb'."),
    ],
)
def test_an_id_that_leads_nowhere_is_named_with_what_it_may_be(wanted: Prefix, typed: str, said: str) -> None:
    assert said in str(not_found_error(wanted, typed, ["ses_xyz", "ses_abC1"]))


async def test_ids_of_another_kind_or_of_nothing_change_nothing(open_harness: OpenHarness) -> None:
    async with open_harness(HELLO) as harness, harness.running_worker():
        session = await harness.start_session("hello")
        await harness.ended(session)
        person, nameless = shell(harness), harness.project / "\udcff"
        nameless.mkdir()
        lines = [("answer", session, "once"), ("stop", ASK), ("grants", "revoke", GRANT)]
        lines += [("delete", session, "--message", "msg_\udcff", "--yes"), ("stop", session.upper())]
        before = await harness.events(session)
        ended = [await person.run(*words) for words in lines]
        ended.insert(0, await person.at(nameless).run("fork", "last"))
        assert await harness.events(session) == before

    assert [each.code for each in ended] == [2] * (len(lines) + 1)
    assert "is no UTF-8 text" in ended[0].err and "is no message's id" in ended[4].err
    assert f"is {session} meant?" in ended[-1].err and f"no grant {GRANT!r}" in ended[3].err


@asynccontextmanager
async def silent() -> AsyncIterator[str]:
    """A server that accepts connections and sends nothing."""
    open_ended: list[asyncio.StreamWriter] = []
    server = await asyncio.start_server(lambda _, writer: open_ended.append(writer), "127.0.0.1", 0)
    try:
        host, port = server.sockets[0].getsockname()
        yield f"{host}:{port}"
    finally:
        server.close()
        for writer in open_ended:
            writer.transport.abort()


async def test_a_home_that_nothing_can_be_written_to_is_named_with_why_and_the_way_out(bare: CommandRunner) -> None:
    file = bare.directory / "file"
    file.touch()
    homes = [str(file), str(file / "below"), "/proc/holdfast"]
    words = [("up",), ("sessions",), ("run", "-m", "openai/gpt-5.4", "hello")]
    people = [bare.with_(HOLDFAST_HOME=home) for home in homes]
    keyed = [each.with_(OPENAI_API_KEY="k") for each in people]
    ended = [(home, await each.run(*word)) for home, each in zip(homes, keyed, strict=True) for word in words]
    ended.append((homes[1], await people[1].run("demo")))
    seen = [await each.run("doctor") for each in people]
    looked = [await each.run("status") for each in people]
    purged = await people[2].run("down", "--purge", "--yes")

    assert [(each.code, each.out) for _, each in ended[:-1]] == [(2, "")] * 9 and ended[-1][1].code == 2
    assert all(f"Holdfast's home {home!r} cannot be used: " in each.err for home, each in ended)
    assert all("name another one in HOLDFAST_HOME" in each.err for _, each in ended)
    named = [f"failure  home           {home} cannot be used: " for home in homes]
    assert all(said in each.out for said, each in zip(named, seen, strict=True))
    assert all(
        "home: Check that it is a directory of yours" in each.out and "free for" not in each.out for each in seen
    )
    assert [each.code for each in looked] == [3] * 3
    assert all(f"down. Holdfast's home {home!r} cannot" in each.out for home, each in zip(homes, looked, strict=True))
    assert purged.code == 0 and "There is nothing of a stack in /proc/holdfast." in purged.err
    assert not any("Traceback" in each.err for each in (*seen, purged, *(one for _, one in ended)))


async def test_a_database_that_is_away_is_named_in_good_time(bare: CommandRunner) -> None:
    elsewhere = bare.with_(TEMPORAL_ADDRESS=NO_PLACE, HOLDFAST_WORKER="false")
    async with silent() as mute:
        people = [elsewhere.with_(HOLDFAST_POSTGRES_URL=f"postgresql://{at}/x") for at in (NO_PLACE, mute)]
        lines = [("asks",), ("send", "last", "hello"), ("watch", "last")]
        ended = await asyncio.gather(*(person.run(*words) for person in people for words in lines))

    assert [each.code for each in ended] == [3] * 6
    assert all("PostgreSQL cannot be reached" in each.err for each in ended)
    assert "Connection refused" in ended[0].err


async def test_doors_recover_with_the_database(open_harness: OpenHarness, tmp_path: Path) -> None:
    async with open_harness() as harness:
        sockets = tmp_path / "sockets"
        url = harness.endpoints.postgres_url
        person = shell(harness)
        moved = person.with_(HOLDFAST_POSTGRES_URL=f"{url.partition('?')[0]}?host={sockets}")
        away = await moved.run("asks")
        sockets.symlink_to(person.environment["HOLDFAST_POSTGRES_URL"].rpartition("host=")[2].replace("%2F", "/"))
        back = await moved.run("asks")

    assert (away.code, back.code) == (3, 0)


async def test_without_the_engine_doors_accept_and_say_that_it_waits(open_harness: OpenHarness) -> None:
    async with open_harness(HELLO) as harness:
        session = await harness.start_session("hello")
        person = shell(harness).with_(TEMPORAL_ADDRESS=NO_PLACE)
        sent, stopped, listed = [
            await person.run(*words) for words in (("send", session, "more"), ("stop", session), ("asks",))
        ]
        types = [event.type for event in await harness.events(session)]

    assert [each.code for each in (sent, stopped, listed)] == [0, 0, 0]
    assert "the prompt is recorded" in sent.err
    assert types.count("prompt.accepted") == 2 and types.count("prompt.withdrawn") == 2


async def test_a_stack_that_cannot_be_started_accepts_nothing(bare: CommandRunner) -> None:
    nothing = bare.with_(HOLDFAST_POSTGRES_BIN=str(bare.directory), HOLDFAST_TEMPORAL_BIN=os.devnull)

    ended = await nothing.run("send", "last", "hello")

    assert ended.code in (2, 3) and str(bare.directory) in ended.err and "Accepted" not in ended.out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '{\n  "permission": {\n    "bash": "perhaps"\n  }\n}',
            ("opencode.json: the field 'permission.bash' ",),
        ),
        ('{\n  "model": "a/b",\n  "permission"\n}', ("opencode.json:4:1: this is not JSON",)),
        ("[]", ("opencode.json",)),
        ("{\n  \"instructions\": 'x'\n}", ("opencode.json: the field 'instructions' is wrong",)),
    ],
    ids=["value", "syntax", "no-object", "quotes"],
)
async def test_a_broken_configuration_is_named_by_file_and_field(
    bare: CommandRunner, text: str, said: tuple[str, ...]
) -> None:
    (bare.directory / "opencode.json").write_text(text)

    ended = await bare.run("run", "-m", "a/b", "mend it")

    assert ended.code == 2 and all(each in ended.err for each in said), ended.err
    assert "Traceback" not in ended.err


async def test_a_damaged_file_of_keys_is_named_and_not_shown(open_harness: OpenHarness) -> None:
    async with open_harness(HELLO) as harness, harness.running_worker():
        config = harness.settings.config / "opencode.json"
        config.write_text(config.read_text().replace('"apiKey": "test-key"', '"timeout": 60000'))
        harness.settings.home.mkdir(parents=True, exist_ok=True)
        keys = harness.settings.auth
        keys.write_text('{"scripted": "sk-very-secret')
        keys.chmod(0o600)
        listed = await shell(harness).run("auth", "list")
        ended = await shell(harness).run("run", "-m", "scripted/model", "hello")

    assert (listed.code, ended.code) == (2, 1) and f"{str(keys)!r} is damaged: remove it" in listed.err
    assert "is damaged: remove it, and log in again" in ended.out and "sk-very-secret" not in ended.out + listed.err
