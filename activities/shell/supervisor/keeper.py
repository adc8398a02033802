"""The keeper of a running command: pumps its output, counts its time, records its end, leaves nothing behind.

Standard library only: the supervisor imports it.
"""

import os
import select
import signal
import time

from activities.shell.supervisor import layout
from activities.shell.supervisor.order import Order
from activities.shell.supervisor.process import descendants, send

STOP = signal.SIGUSR1  # not SIGTERM: a machine that goes down is no person who stops a turn
TIMEOUT_SLACK = 0.1  # seconds after the limit until SIGTERM, and then until SIGKILL (opencode.md 3.4)
TIMEOUT_GRACE = 3.0
STOP_GRACE = 1.0  # a stopped command is gone within 2 s (security.md 13)
KILL_PERIOD = 0.05  # between two rounds of SIGKILL, for what was born meanwhile
KILL_PATIENCE = 5.0  # what SIGKILL has not ended by then hangs in the kernel
LOOK_PERIOD = 5.0  # at most so long between two looks at the renewal

_CHUNK = 65_536
_WHOLE_PIPE = 1 << 20  # the largest pipe that a program may ask for


class Spool:
    """The file that takes the output: up to a number of bytes, and while the disk has space."""

    def __init__(self, directory: int, room: int) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        self.file = os.open(layout.SPOOL, flags, 0o600, dir_fd=directory)
        self.room = room
        self.notice: str | None = None

    def add(self, data: bytes) -> bool:
        """Keep `data`; False when that was more than there is room for."""
        kept = data[: self.room]
        self.room -= len(kept)
        if self.notice is None:
            try:
                layout.write_all(self.file, kept)
            except OSError as error:  # the command goes on; what it writes from here on is lost, and that is said
                self.notice = error.strerror
        return len(kept) == len(data)


class Keeper:
    """Stays with a command until nothing of it is left, also with what it left running in the background."""

    def __init__(self, directory: int, order: Order, shell: int, output: int, bell: int) -> None:
        self.directory, self.order, self.shell, self.output, self.bell = directory, order, shell, output, bell
        self.spool = Spool(directory, order.spool_bytes)
        self.draft = f"{layout.EXIT}.{os.getpid()}"
        layout.write_durably(directory, self.draft, {})  # its space is needed when the disk is full, too
        self.wake = _wake_on_signals()
        self.sources = [self.wake, output]
        self.status: int | None = None  # exit code of the shell; negative: the signal that killed it
        self.cause: str | None = None  # why the command was ended, if it was, and the limit that it had passed
        self.limit: float | None = None
        self.alone = False
        self.recorded = False
        self.kill_at = self.give_up_at = float("inf")
        now = time.monotonic()  # neither a clock that is set nor a machine that sleeps ends a command
        self.deadline = now + order.timeout + TIMEOUT_SLACK
        self.renewed, self.renewed_at, self.look_at = 0, now, now

    def run(self) -> None:
        while not (self.recorded and (self.alone or time.monotonic() > self.give_up_at)):
            self.wait()
            self.reap()
            self.judge(time.monotonic())
            if not self.recorded and self.ended():
                self.record()

    def wait(self) -> None:
        """Sleep until there is output, a signal, or something to judge."""
        ready, _, _ = select.select(self.sources, [], [], self.patience(time.monotonic()))
        if self.output in ready:
            self.pump(_CHUNK)
        if self.wake in ready and STOP in os.read(self.wake, 512):
            self.end("stopped", None, STOP_GRACE)

    def patience(self, now: float) -> float | None:
        if self.cause is not None:
            return max(self.kill_at - now, KILL_PERIOD)
        return None if self.recorded else max(min(self.deadline, self.look_at) - now, 0)

    def pump(self, size: int) -> None:
        """Move what the pipe holds into the spool; after the recorded end, away."""
        try:
            data = os.read(self.output, size)
        except BlockingIOError:
            return
        if not data:
            self.sources = [self.wake]
        elif not self.recorded and not self.spool.add(data):
            self.end("overflow", self.order.spool_bytes, 0)

    def reap(self) -> None:
        """Collect the dead; as a subreaper, also those whose own parents are gone."""
        pid = -1
        while pid and not self.alone:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self.alone = True
            else:
                self.status = os.waitstatus_to_exitcode(status) if pid == self.shell else self.status

    def judge(self, now: float) -> None:
        """End a command when its time is over or nobody follows it, and kill what does not go."""
        if now >= self.kill_at:
            self.signal(signal.SIGKILL)
        elif self.recorded or self.cause is not None:
            return
        elif now >= self.deadline:
            self.end("timeout", self.order.timeout, TIMEOUT_GRACE)
        elif self.abandoned(now):
            self.end("abandoned", self.order.lease_seconds, STOP_GRACE)

    def abandoned(self, now: float) -> bool:
        """Whether no worker has renewed its interest for the time of the lease."""
        if now < self.look_at:
            return False
        self.look_at = now + min(LOOK_PERIOD, self.order.lease_seconds / 4)
        renewed = os.stat(layout.RENEWED, dir_fd=self.directory).st_mtime_ns
        if renewed != self.renewed:
            self.renewed, self.renewed_at = renewed, now
        return now - self.renewed_at >= self.order.lease_seconds

    def end(self, cause: str, limit: float | None, grace: float) -> None:
        """Ask the command to go, and give it `grace` seconds; the first cause is the one that is told."""
        if self.cause is None:
            self.cause, self.limit = cause, limit
        self.kill_at = min(self.kill_at, time.monotonic() + grace)
        self.give_up_at = self.kill_at + KILL_PATIENCE
        self.signal(signal.SIGTERM)
        self.signal(signal.SIGCONT)

    def signal(self, number: int) -> None:
        """Signal the shell's group; every descendant when it must go, or when the shell is not there any more.

        The number of a reaped shell may be that of somebody else's group.
        """
        if self.status is None:
            send(os.killpg, self.shell, number)
        if self.status is not None or number == signal.SIGKILL:
            for pid in descendants(os.getpid()):
                send(os.kill, pid, number)

    def ended(self) -> bool:
        """The end of the shell is the end of the call, but what has to go must be gone."""
        if self.status is None:
            return False
        return self.cause is None or self.alone or time.monotonic() > self.give_up_at

    def record(self) -> None:
        self.pump(_WHOLE_PIPE)
        os.fsync(self.spool.file)
        end = {"status": self.status, "cause": self.cause, "limit": self.limit, "notice": self.spool.notice}
        layout.write_durably(self.directory, self.draft, end)
        layout.publish(self.directory, self.draft, layout.EXIT)
        self.recorded = True
        self.order.fault("supervisor.exit_written")
        os.close(self.bell)


def _wake_on_signals() -> int:
    """A descriptor that gets the numbers of the signals to act on: the stop, and the death of a child."""
    wake, waker = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    for number in (STOP, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    return wake
