"""The supervisor: a small program that runs one bash command, detached, so that it outlives the worker.

`activities.shell.start` runs it with the private directory of a call and the name of an order in there. It imports
the standard library only, and little of that, to be up in a few hundredths of a second.

The worker's own child only waits until its detached child, the keeper, has taken the lease, and ends. The keeper
holds a FIFO open for writing until the end is recorded: that is the bell by which workers notice the end, or the
keeper's death, without polling.
"""

import os
import signal
import sys
import time

from activities.shell.supervisor import layout
from activities.shell.supervisor.keeper import Keeper
from activities.shell.supervisor.order import Order
from activities.shell.supervisor.process import adopt_orphans, die_with_parent, moment


def main() -> None:
    """Run the order that the arguments name; return when its fate depends on this process no longer."""
    directory = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECTORY)
    order = Order.read(layout.read(sys.argv[2], directory))
    os.unlink(sys.argv[2], dir_fd=directory)
    ready, say = os.pipe()
    if os.fork() == 0:
        os.close(ready)
        keep(directory, order, say)
        return
    os.close(say)
    sys.exit(0 if os.read(ready, 1) else 1)


def keep(directory: int, order: Order, say: int) -> None:
    """Take the lease and stay with the command, or leave both to the one who has the lease.

    The shell is born first and waits at a gate, so that the lease can name it: a lease is complete in the moment
    in which it exists, and nothing runs without one.
    """
    os.setsid()
    adopt_orphans()
    bell = os.open(layout.BELL, os.O_RDWR, dir_fd=directory)
    output, into = os.pipe()
    gate, opener = os.pipe()
    shell = os.fork()
    if shell == 0:
        os.close(opener)
        become_shell(order, gate, into)
    os.close(into)
    os.set_blocking(output, False)
    keeper = Keeper(directory, order, shell, output, bell)
    if not take_lease(directory, shell):
        os.unlink(keeper.draft, dir_fd=directory)
        return detach(say)
    order.fault("supervisor.leased")
    os.write(opener, b"!")
    detach(say)
    return keeper.run()


def become_shell(order: Order, gate: int, output: int) -> None:
    """The child's part: wait for the lease, then turn into the command; never returns.

    Without a lease the gate does not open, it only ends.
    """
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
        os.chdir(order.directory)
        os.execve(order.arguments[0], order.arguments, order.environment)
    except OSError as error:
        os.write(2, f"{order.arguments[0]} could not be started in {order.directory}: {error}\n".encode())
        os._exit(126)


def take_lease(directory: int, shell: int) -> bool:
    """Create the lease; False when somebody has it already. Whoever creates it owns the effect."""
    lease: dict[str, object] = {"keeper": identity(os.getpid()), "shell": identity(shell), "begun": time.time()}
    return layout.create_durably(directory, layout.LEASE, lease)


def identity(pid: int) -> dict[str, object]:
    return {"pid": pid, "start": moment(pid)}


def detach(say: int) -> None:
    """Let go of the worker's descriptors, and tell the process that waits, if it is still there."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    try:
        os.write(say, b"!")
    except BrokenPipeError:
        return
