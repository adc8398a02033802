"""What a stop has stopped, for people."""

from worker.api.accepted import AcceptedStop
from worker.cli.render.formatting import pluralize


def describe_stop(stopped: AcceptedStop) -> str:
    withdrawn = f" {pluralize(len(stopped.withdrawn), 'prompt')} withdrawn." if stopped.withdrawn else ""
    number = len(stopped.background)
    tasks = f" {pluralize(number, 'background task')} stopped." if number else ""
    if stopped.turn is None:
        return f"No turn was running.{tasks}{withdrawn}"
    return f"The stop is recorded; the turn is ending.{tasks}{withdrawn}"
