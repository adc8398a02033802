"""From nothing to the end of a `make` target, for two commits in turns.

`PYTHONPATH=. .venv/bin/python -P -m bench.first_use OLD NEW --target demo --rounds 2` prints the seconds of each
round and the ratio of the medians. Each run has a clone, a home and caches of its own, all empty, and leaves nothing;
the packages come from the index each time.
"""

import argparse
import os
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Final

_ROOT: Final = Path(__file__).resolve().parent.parent
_KEPT: Final = ("PATH", "LANG", "UV_PYTHON")  # and where certificates are: a machine may have its own
_CERTIFICATES: Final = ("SSL_CERT_FILE", "SSL_CERT_DIR", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
_STACKS: Final = ".local/share/holdfast*/**/stack.json"


def first_use(commit: str, target: str, log: Path) -> float:
    """The seconds of `make TARGET` in a new clone."""
    with tempfile.TemporaryDirectory(prefix="first-use-") as scratch:
        clone, home = Path(scratch) / "clone", Path(scratch) / "home"
        home.mkdir()
        Path(scratch).chmod(0o755)  # the suite runs a part as an ordinary user
        subprocess.run(["git", "clone", "--quiet", _ROOT, clone], check=True)
        subprocess.run(["git", "-C", clone, "checkout", "--quiet", "--detach", commit], check=True)
        environment = {name: os.environ[name] for name in (*_KEPT, *_CERTIFICATES) if name in os.environ}
        environment["HOME"] = str(home)
        began = time.monotonic()
        with log.open("wb") as output:
            ended = subprocess.run(["make", target], cwd=clone, env=environment, stdout=output, stderr=output)
        seconds = time.monotonic() - began
        for state in list(home.glob(_STACKS)):  # root's database is outside of its home
            own = {**environment, "HOLDFAST_HOME": str(state.parent)}
            command = [str(clone / ".venv" / "bin" / "holdfast"), "down", "--purge", "--yes"]
            subprocess.run(command, cwd=clone, env=own, check=True, capture_output=True)
    if ended.returncode != 0:  # a failed test takes as long as one that passes
        print(f"`make {target}` of {commit} ended with {ended.returncode}: see {log}", flush=True)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.first_use", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("commits", nargs=2, metavar="COMMIT")
    parser.add_argument("--target", default="demo", help="demo, or test (default: demo)")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    old, new = options.commits
    logs = Path(tempfile.mkdtemp(prefix="first-use-logs-"))
    seconds: dict[str, list[float]] = {old: [], new: []}
    for number in range(options.rounds):
        for commit in (old, new):
            seconds[commit].append(first_use(commit, options.target, logs / f"{commit.replace('/', '-')}-{number}.log"))
            print(f"{commit}: {seconds[commit][-1]:.0f} s, load {os.getloadavg()[1]:.1f}", flush=True)
    print(f"{new} : {old} = {median(seconds[new]) / median(seconds[old]):.2f}; what was printed: {logs}")


if __name__ == "__main__":
    main()
