#!/usr/bin/env bash
# What a click command gets for its options when another command invokes it.
#
# Guessed: `context.invoke(command)` gives the options that were left out the values that they have at a command line.
# Seen with click 8.5.1, Python 3.11; an option with multiple=True whose callback turns the values into one, or None:
#   - at the command line without that option the command gets None, what its callback returns;
#   - invoked by another command it gets (), the default before any callback: callbacks do not run, and types of
#     arguments that are given are not converted either ("7" for an int stays a text).
# So who forwards to a command passes what its callbacks would make, or calls `command.main` with words.
set -euo pipefail
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
cd "$home"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check click==8.5.1
cat >probe.py <<'P'
import click


def only_one(context, parameter, values):
    return values[0] if values else None


@click.group(invoke_without_command=True)
@click.pass_context
def cli(context):
    if context.invoked_subcommand is None:
        context.invoke(run, times="7")


@cli.command()
@click.option("--agent", multiple=True, callback=only_one)
@click.option("--times", type=int, default=1)
def run(agent, times):
    print(f"agent {agent!r}, times {times!r}")


cli()
P
seen=$(env/bin/python probe.py run --times 7; env/bin/python probe.py)
echo "$seen"
[ "$seen" = "agent None, times 7
agent (), times '7'" ]
echo "as stated"
