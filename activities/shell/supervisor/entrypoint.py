"""A detached program that runs one bash command and outlives the worker; imports little, to start fast.

The worker's child forks, waits until the detached process has taken the lease, and exits. That process keeps a FIFO
open for writing until it has recorded the end: workers notice its end, or death, without polling.
"""

import os
import signal
import sys
import time

from activities.shell.supervisor import call_files
from activities.shell.supervisor.command_spec import CommandSpec
from activities.shell.supervisor.command_supervisor import CommandSupervisor
from activities.shell.supervisor.process import adopt_orphans, die_with_parent, start_time


def main() -> None:
    directory = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECTORY)
    command_spec = CommandSpec.read(call_files.read_file(sys.argv[2], directory))
    os.unlink(sys.argv[2], dir_fd=directory)
    ready_reader, ready_writer = os.pipe()
    if os.fork() == 0:
        os.close(ready_reader)
        supervise(directory, command_spec, ready_writer)
        return
    os.close(ready_writer)
    sys.exit(0 if os.read(ready_reader, 1) else 1)


def supervise(directory: int, command_spec: CommandSpec, ready_writer: int) -> None:
    """Take the lease and supervise the command, or exit if it is taken."""
    # The shell is forked first and waits at a gate, so that the lease can name it: a lease is complete when it appears,
    # and no command runs without one.
    os.setsid()
    adopt_orphans()
    exit_fifo = os.open(call_files.EXIT_FIFO, os.O_RDWR, dir_fd=directory)
    output, output_writer = os.pipe()
    gate, gate_writer = os.pipe()
    shell = os.fork()
    if shell == 0:
        os.close(gate_writer)
        exec_command(command_spec, gate, output_writer)
    os.close(output_writer)
    os.set_blocking(output, False)
    supervisor = CommandSupervisor(directory, command_spec, shell, output, exit_fifo)
    if not take_lease(directory, shell, command_spec.session):
        os.unlink(supervisor.draft, dir_fd=directory)
        return detach(ready_writer)
    command_spec.trigger_failpoint("supervisor.leased")
    os.write(gate_writer, b"!")
    detach(ready_writer)
    return supervisor.run()


def exec_command(command_spec: CommandSpec, gate: int, output: int) -> None:
    """In the child: wait for the lease, then exec; never returns."""
    # Without a lease, the gate is closed unwritten.
    os.setsid()
    die_with_parent()
    if not os.read(gate, 1):
        os._exit(1)
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    try:
        os.chdir(command_spec.directory)
        os.execve(command_spec.arguments[0], command_spec.arguments, command_spec.environment)
    except OSError as error:
        os.write(2, f"{command_spec.arguments[0]} could not be started in {command_spec.directory}: {error}\n".encode())
        os._exit(126)


def take_lease(directory: int, shell: int, session: str | None) -> bool:
    """False if there is one. Only its creator runs the command."""
    lease: dict[str, object] = {
        "supervisor": process_identity(os.getpid()),
        "shell": process_identity(shell),
        "started_at": time.time(),
        "session": session,
    }
    return call_files.create_durably(directory, call_files.LEASE, lease)


def process_identity(pid: int) -> dict[str, object]:
    return {"pid": pid, "start": start_time(pid)}


def detach(ready_writer: int) -> None:
    """Close the worker's descriptors, and notify the waiting process if it still exists."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    try:
        os.write(ready_writer, b"!")
    except BrokenPipeError:
        return
