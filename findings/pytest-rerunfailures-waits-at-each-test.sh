#!/usr/bin/env bash
# What pytest-rerunfailures costs tests that pass, beside pytest-xdist.
#
# Guessed: a plugin that runs failed tests again costs nothing while none fails.
# Seen with pytest 9.2.0, pytest-xdist 3.8.0, pytest-rerunfailures 16.7, Python 3.11, Linux; 200 empty tests, one worker:
# 1 s without the plugin, 9 s with it, 40 ms a test, also with --reruns 0. Each worker writes its counts to a socket of
# the first process in small pieces, and waits for the answers: a piece waits for the acknowledgement of the one before
# it, which Linux delays by 40 ms. It is no load on the processor, so that a profile does not show it.
# So a suite of ten thousand tests on four workers lasts nearly two minutes longer; pytest's own --last-failed in a
# second run costs nothing.
set -euo pipefail
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
cd "$home"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check pytest==9.2.0 pytest-xdist==3.8.0 pytest-rerunfailures==16.7
cat >test_nothing.py <<'P'
import pytest


@pytest.mark.parametrize("number", range(200))
def test_nothing(number): ...
P
seconds() { # of the session, as pytest says
  env/bin/pytest -q -n 1 "$@" | sed -nE 's/^200 passed in ([0-9]+)\.[0-9]+s.*/\1/p'
}
without=$(seconds -p no:rerunfailures)
with=$(seconds --reruns 0)
echo "seconds of 200 empty tests: $without without the plugin, $with with it"
[ "$with" -ge $((without + 5)) ]
echo "as stated"
