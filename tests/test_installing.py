"""`make` trusts an index that only the system's administrator has signed for, and installs what is there now."""

import functools
import http.server
import json
import os
import shutil
import ssl
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests.worker.cli.conftest import CTRL_D, CommandRunner, files_below
from worker.scripted.model_server import serve
from worker.scripted.script import Script, ScriptedAnswer

ROOT = Path(__file__).resolve().parent.parent
STORE = Path("/etc/ssl/certs/ca-certificates.crt")  # Debian's
UV = ROOT / ".uv" / "bin" / "uv"


def openssl(directory: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=directory, check=True, capture_output=True)


def write_wheel(folder: Path, name: str, content: str = "") -> None:
    """Version 1.0, with a module and a command of its name."""
    module = name.replace("-", "_")
    with zipfile.ZipFile(folder / f"{module}-1.0-py3-none-any.whl", "w") as wheel:
        facts = f"{module}-1.0.dist-info"
        wheel.writestr(f"{module}.py", content)
        wheel.writestr(f"{facts}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        wheel.writestr(f"{facts}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{facts}/entry_points.txt", f"[console_scripts]\n{name} = {module}:main\n")
        wheel.writestr(f"{facts}/RECORD", "")


@pytest.fixture
def authority(tmp_path: Path) -> Path:
    """Our own authority's certificate, beside one that it signed for localhost."""
    new_key = ("-newkey", "rsa:2048", "-nodes", "-keyout")
    openssl(tmp_path, "req", "-x509", *new_key, "ca.key", "-out", "ca.crt", "-days", "2", "-subj", "/CN=our own")
    openssl(tmp_path, "req", *new_key, "server.key", "-out", "server.csr", "-subj", "/CN=localhost")
    (tmp_path / "names").write_text("subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n")
    signed = ("x509", "-req", "-in", "server.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial")
    openssl(tmp_path, *signed, "-out", "server.crt", "-days", "2", "-extfile", "names")
    return tmp_path / "ca.crt"


@pytest.fixture
def index(authority: Path, tmp_path: Path) -> Iterator[str]:
    """A package index with one package, by TLS."""
    folder = tmp_path / "index" / "simple" / "holdfast-tiny"
    folder.mkdir(parents=True)
    write_wheel(folder, "holdfast-tiny")
    serving = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path / "index"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), serving)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.crt", tmp_path / "server.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"https://localhost:{server.server_port}/simple/"
    server.shutdown()
    thread.join()
    server.server_close()


def variables_of_make() -> dict[str, str]:
    """The Makefile's variables for uv."""
    command = ["make", "--silent", "--no-print-directory", "--eval", "variables: ; @env", "variables"]
    plain = {"PATH": os.environ["PATH"]}
    said = subprocess.run(command, cwd=ROOT, env=plain, check=True, capture_output=True, text=True).stdout
    return dict(line.partition("=")[::2] for line in said.splitlines() if line.startswith("UV_"))


def can_mount() -> bool:
    """Whether one process can get another system store."""
    if not (STORE.exists() and UV.exists() and shutil.which("unshare") and shutil.which("openssl")):
        return False
    return subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode == 0


@pytest.mark.skipif(not can_mount(), reason="the system's store of certificates cannot be replaced for a process here")
@pytest.mark.parametrize("trusting", [True, False], ids=["with the Makefile's variables", "without them"])
def test_uv_trusts_what_the_system_trusts(authority: Path, index: str, tmp_path: Path, trusting: bool) -> None:
    install: list[str | Path] = [
        UV,
        "pip",
        "install",
        "--no-config",
        "--no-cache",
        "--python",
        sys.executable,
        "--target",
        tmp_path / "to",
    ]
    script = 'mount --bind "$0" "$1" && shift && exec "$@"'
    own = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **(variables_of_make() if trusting else {})}

    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, authority, STORE, *install, "--index-url", index, "holdfast-tiny"],
        env=own,
        capture_output=True,
        text=True,
    )

    assert (tmp_path / "to" / "holdfast_tiny.py").exists() == trusting, done.stderr
    assert trusting or "certificate" in done.stderr


@pytest.mark.skipif(not UV.exists(), reason="`make` has not fetched uv here")
def test_make_install_replaces_an_earlier_build_of_the_same_version(tmp_path: Path) -> None:
    recipe = subprocess.run(["make", "-n", "install"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    command = "".join(recipe.replace("\\\n", "").partition(".uv/bin/uv tool install")[1:]).splitlines()[0]
    wheels = tmp_path / ".uv" / "wheels"
    wheels.mkdir(parents=True)
    (tmp_path / ".uv" / "bin").symlink_to(UV.parent)
    (tmp_path / ".uv" / "requirements.txt").touch()
    own = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}

    for content in ("earlier", "now"):
        write_wheel(wheels, "holdfast", f"# {content}")
        subprocess.run(["sh", "-c", command], cwd=tmp_path, env=own, check=True, capture_output=True)

    (installed,) = tmp_path.glob(".local/share/uv/tools/holdfast/lib/*/site-packages/holdfast.py")
    assert installed.read_text() == "# now"


def own_home(home: Path) -> dict[str, str]:
    """The environment of a new user who may use the package caches of this one."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    caches = {"UV_CACHE_DIR": str(cache / "uv"), "PIP_CACHE_DIR": str(cache / "pip")}
    set_here = {name: value for name, value in os.environ.items() if name.startswith(("UV_", "PIP_", "SSL_"))}
    own = {"HOME": str(home), "PATH": f"{home}/.local/bin:{os.environ['PATH']}", "UV_TOOL_DIR": "", "PS1": "ready: "}
    return caches | set_here | own


@pytest.mark.timeout(1200)  # packages may have to be fetched
@pytest.mark.skipif(not UV.exists(), reason="`make` has not fetched uv here")
async def test_from_nothing_to_an_answer_are_three_commands_and_no_decision_and_nothing_unsaid_is_left(
    tmp_path: Path,
) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    project.mkdir()
    config = home / ".config" / "opencode" / "opencode.json"
    config.parent.mkdir(parents=True)
    environment = own_home(home)
    began = time.monotonic()
    made = subprocess.run(["make", "install"], cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
    person = CommandRunner(environment, project, home / ".local" / "bin" / "holdfast")
    async with serve(Script(answers=(ScriptedAnswer(text="Hello to you."),))) as server:
        options = {"baseURL": server.url, "apiKey": "{env:SCRIPTED_API_KEY}"}
        provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"model": {}}}
        config.write_text(json.dumps({"provider": {"scripted": provider}}))
        installed = time.monotonic()
        try:
            async with CommandRunner(environment, project, Path("/bin/sh")).terminal() as terminal:
                await terminal.until("ready: ")
                terminal.type("export SCRIPTED_API_KEY=a-key\n")
                await terminal.until("ready: ")
                terminal.type("holdfast\n")
                asked = (await terminal.until(r"(?s).*leaves\..*>"))[0]
                terminal.type("Say hello.\r")
                answered = (await terminal.until(r"(?s).*Done in "))[0]
                print(f"make install {installed - began:.0f} s, to the answer {time.monotonic() - installed:.0f} s")
                await terminal.until("Type the next prompt")
                terminal.type(CTRL_D)
                await terminal.until("ready: ")
        finally:
            purged = await person.run("down", "--purge", "--yes")
    subprocess.run([UV, "tool", "uninstall", "holdfast"], env=environment, check=True, capture_output=True)

    assert made.stdout.splitlines()[-1].startswith("Next: export ANTHROPIC_API_KEY=")
    assert "?" not in click.unstyle(asked + answered) and "Hello to you." in answered
    assert purged.code == 0
    assert [name for name in files_below(home) if "holdfast" in name] == [] and config.exists()
