"""Supervises a running command. Standard library only."""

import os
import select
import signal
import time

from activities.shell.supervisor import call_files
from activities.shell.supervisor.command_spec import CommandSpec
from activities.shell.supervisor.process import descendants, send_signal

STOP_SIGNAL = signal.SIGUSR1  # not SIGTERM, which a shutdown of the machine sends too
TIMEOUT_SLACK = 0.1  # seconds after the limit until SIGTERM, then until SIGKILL (opencode.md 3.4)
TIMEOUT_GRACE = 3.0
STOP_GRACE = 1.0  # a stopped command is gone within 2 s (security.md 13)
KILL_PERIOD = 0.05  # between rounds of SIGKILL, against new children
KILL_TIMEOUT = 5.0  # what survives SIGKILL this long hangs in the kernel
LEASE_CHECK_PERIOD = 5.0  # at most, between checks of the renewal

_CHUNK = 65_536
_WHOLE_PIPE = 1 << 20  # the largest size of a pipe


class SpoolWriter:
    """Writes the output, limited in bytes and by the disk's space."""

    def __init__(self, directory: int, remaining_bytes: int) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        self.file = os.open(call_files.SPOOL, flags, 0o600, dir_fd=directory)
        self.remaining_bytes = remaining_bytes
        self.write_error: str | None = None

    def add(self, data: bytes) -> bool:
        kept = data[: self.remaining_bytes]
        self.remaining_bytes -= len(kept)
        if self.write_error is None:
            try:
                call_files.write_all(self.file, kept)
            except OSError as error:  # the command continues; the report says that later output is lost
                self.write_error = error.strerror
        return len(kept) == len(data)


class CommandSupervisor:
    """Works until all processes of the command are gone, background ones included."""

    def __init__(self, directory: int, command_spec: CommandSpec, shell: int, output: int, exit_fifo: int) -> None:
        self.directory = directory
        self.command_spec = command_spec
        self.shell = shell
        self.output = output
        self.exit_fifo = exit_fifo
        self.spool = SpoolWriter(directory, command_spec.spool_bytes)
        self.draft = f"{call_files.EXIT}.{os.getpid()}"
        call_files.write_durably(directory, self.draft, {})  # reserves the space, in case the disk fills up
        self.wakeup_fd = _signal_wakeup_fd()
        self.sources = [self.wakeup_fd, output]
        self.status: int | None = None  # exit code of the shell; negative: the signal that killed it
        self.cause: str | None = None  # why the supervisor ended it, with the exceeded limit
        self.limit: float | None = None
        self.childless = False
        self.recorded = False
        self.kill_at = self.give_up_at = float("inf")
        now = self.begun_at = time.monotonic()  # setting the clock or suspending the machine ends no command
        self.deadline = now + command_spec.timeout + TIMEOUT_SLACK
        self.renewed, self.renewed_at, self.next_lease_check = 0, now, now

    def run(self) -> None:
        while not (self.recorded and (self.childless or time.monotonic() > self.give_up_at)):
            self.wait()
            self.reap()
            self.enforce_limits(time.monotonic())
            if not self.recorded and self.ended():
                self.record()

    def wait(self) -> None:
        ready, _, _ = select.select(self.sources, [], [], self.wait_seconds(time.monotonic()))
        if self.output in ready:
            self.pump(_CHUNK)
        if self.wakeup_fd in ready and STOP_SIGNAL in os.read(self.wakeup_fd, 512):
            self.end("stopped", time.monotonic() - self.begun_at, STOP_GRACE)

    def wait_seconds(self, now: float) -> float | None:
        if self.cause is not None:
            return max(self.kill_at - now, KILL_PERIOD)
        return None if self.recorded else max(min(self.deadline, self.next_lease_check) - now, 0)

    def pump(self, size: int) -> None:
        """Move the pipe's content into the spool; discard it once the end is recorded."""
        try:
            data = os.read(self.output, size)
        except BlockingIOError:
            return
        if not data:
            self.sources = [self.wakeup_fd]
        elif not self.recorded and not self.spool.add(data):
            self.end("overflow", self.command_spec.spool_bytes, 0)

    def reap(self) -> None:
        """Reap dead children; as a subreaper, also orphaned descendants."""
        pid = -1
        while pid and not self.childless:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self.childless = True
            else:
                self.status = os.waitstatus_to_exitcode(status) if pid == self.shell else self.status

    def enforce_limits(self, now: float) -> None:
        if now >= self.kill_at:
            self.signal(signal.SIGKILL)
        elif self.recorded or self.cause is not None:
            return
        elif now >= self.deadline:
            self.end("timeout", self.command_spec.timeout, TIMEOUT_GRACE)
        elif self.abandoned(now):
            self.end("abandoned", self.command_spec.lease_seconds, STOP_GRACE)

    def abandoned(self, now: float) -> bool:
        if now < self.next_lease_check:
            return False
        self.next_lease_check = now + min(LEASE_CHECK_PERIOD, self.command_spec.lease_seconds / 4)
        renewed = os.stat(call_files.RENEWED, dir_fd=self.directory).st_mtime_ns
        if renewed != self.renewed:
            self.renewed, self.renewed_at = renewed, now
        return now - self.renewed_at >= self.command_spec.lease_seconds

    def end(self, cause: str, limit: float | None, grace: float) -> None:
        """Ends the command, with `grace` seconds before SIGKILL; records only the first cause."""
        if self.cause is None:
            self.cause, self.limit = cause, limit
        self.kill_at = min(self.kill_at, time.monotonic() + grace)
        self.give_up_at = self.kill_at + KILL_TIMEOUT
        self.signal(signal.SIGTERM)
        self.signal(signal.SIGCONT)

    def signal(self, number: int) -> None:
        """Signal the shell's group; for SIGKILL, or without the shell, every descendant."""
        # A reaped shell's pid may belong to another group.
        if self.status is None:
            send_signal(os.killpg, self.shell, number)
        if self.status is not None or number == signal.SIGKILL:
            for pid in descendants(os.getpid()):
                send_signal(os.kill, pid, number)

    def ended(self) -> bool:
        # The call ends with its shell; a command that is being ended must be gone completely.
        if self.status is None:
            return False
        return self.cause is None or self.childless or time.monotonic() > self.give_up_at

    def record(self) -> None:
        self.pump(_WHOLE_PIPE)
        os.fsync(self.spool.file)
        end: dict[str, object] = {"status": self.status, "cause": self.cause, "limit": self.limit}
        end |= {"write_error": self.spool.write_error, "left_running": not self.childless}
        call_files.write_durably(self.directory, self.draft, end)
        call_files.publish(self.directory, self.draft, call_files.EXIT)
        self.recorded = True
        self.command_spec.trigger_failpoint("supervisor.exit_written")
        os.close(self.exit_fifo)


def _signal_wakeup_fd() -> int:
    wakeup_fd, wakeup_writer = os.pipe()
    os.set_blocking(wakeup_fd, False)
    os.set_blocking(wakeup_writer, False)
    signal.set_wakeup_fd(wakeup_writer, warn_on_full_buffer=False)
    for number in (STOP_SIGNAL, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    return wakeup_fd
