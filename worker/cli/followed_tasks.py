"""Background tasks of a session that `run` follows."""

from worker.cli.render.formatting import pluralize
from workflows.domain.events.event import Event
from workflows.domain.events.prompts import PromptAccepted, PromptWithdrawn
from workflows.domain.events.sessions import SessionEnded
from workflows.domain.events.stops import StopAccepted
from workflows.domain.events.tasks import TaskStarted
from workflows.domain.ids import MessageId, PartId


class FollowedTasks:
    """Background tasks that began while we followed the session, and whose results will come. `results`: the prompts
    that brought results, until a stop."""

    def __init__(self) -> None:
        self.results: set[MessageId] = set()
        self._calls: set[PartId] = set()

    def __bool__(self) -> bool:
        return bool(self._calls)

    def note(self, event: Event) -> MessageId | None:
        """Returns the prompt that has the result of one. A stop ends them all."""
        match event:
            case TaskStarted(background=True):
                self._calls.add(event.call)
            case PromptAccepted(task=call) if call in self._calls:
                self._calls.discard(call)
                self.results.add(event.prompt)
                return event.prompt
            case PromptWithdrawn(prompt=held) if held in self.results:
                self._calls.clear()  # the next results are held, too
            case StopAccepted() | SessionEnded():
                self._calls.clear()
                self.results.clear()
        return None

    def describe(self, *, stays_open: bool) -> str:
        tasks = pluralize(len(self._calls), "background task")
        end = "when it ends" if len(self._calls) == 1 else "as each of them ends"
        leave = "" if stays_open else " Ctrl-C leaves, and nothing is lost."
        return f"{tasks} at work: the session goes on {end}.{leave}"
