"""Checks of the database's contents: its schema and clock, and what workers have recorded there."""

import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from activities.store import migrate, pg_server, reconcile, refused_callers, schedules
from worker.settings import Settings
from worker.stack.diagnosis import Diagnosis, Level

DatabaseCheck: TypeAlias = Callable[[Settings, str], Awaitable[Diagnosis]]  # gets the database's address
_SKEWED: Final = 5.0  # seconds
_REPAIRS_REMEDY: Final = (
    "`holdfast log SESSION` says when (`session.restarted`), and the worker's log why, if its code failed."
)


async def check_schema(settings: Settings, url: str) -> Diagnosis:
    await pg_server.inspect_server(url)  # fails in seconds, not minutes
    found, known = await migrate.current_version(url), len(migrate.scripts())
    if found == known:
        return Level.OK, f"the database is at migration {found}", ""
    if found < known:
        remedy = "`holdfast down`, then `holdfast up`." if settings.worker else "`python -P -m worker.prepare`."
        return Level.FAILURE, f"the database is at migration {found} of {known}", remedy
    return Level.FAILURE, f"the database is at migration {found}, this Holdfast knows {known}", "Use the newer one."


async def check_clock(_: Settings, url: str) -> Diagnosis:
    ahead = await pg_server.server_time(url) - time.time()
    if abs(ahead) < _SKEWED:
        return Level.OK, "the database's clock and this one agree", ""
    message = f"the database's clock is {abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} this one"
    return Level.WARNING, message, "Have both machines follow a time server; ages that are shown are off until then."


async def check_callers(_: Settings, url: str) -> Diagnosis:
    seen = await refused_callers.totals(url)
    overtaken = f"attempts refused because a later one had overtaken them: {seen.stale}"
    if not seen.foreign + seen.epoch:
        return Level.OK, overtaken, ""
    strange = f"{seen.foreign} requests of foreign workflows and {seen.epoch} of forged runs were refused; {overtaken}"
    remedy = "Who reaches Temporal's port can send them: `holdfast log SESSION` names the callers."
    return Level.WARNING, strange, remedy


async def check_repairs(_: Settings, url: str) -> Diagnosis:
    seen = await reconcile.lately(url)
    if seen.behind:
        message = f"sessions that were put back with the database, behind what they have done: {seen.behind}"
        return Level.WARNING, message, "`holdfast asks` names them, and what is missing in their logs."
    if seen.stuck:
        return Level.WARNING, f"sessions that cannot go on: {seen.stuck}", "`holdfast sessions --state stuck`"
    if not seen.refreshed:
        return Level.OK, "no session has stalled within a day", ""
    message = f"sessions that have stalled within a day: {seen.refreshed}, of which restarted: {seen.restarted}"
    return (Level.WARNING if seen.restarted else Level.OK), message, _REPAIRS_REMEDY if seen.restarted else ""


async def check_schedules(_: Settings, url: str) -> Diagnosis:
    seen = await schedules.troubles(url)
    if seen.reason is not None:
        message = f"Temporal does not have {seen.refused} of the schedules: {seen.reason}"
        return Level.WARNING, message, "They run some seconds late; the worker's log says when Temporal takes them."
    if seen.overdue:
        message = f"schedules whose time has passed without being noticed: {seen.overdue}"
        return Level.WARNING, message, "A worker notices them: see what is said of worker, and `holdfast logs worker`."
    return Level.OK, "no schedule waits to be noticed", ""
