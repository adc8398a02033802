"""A folder for each failure: plan, problems, the four records, a dump of the tables, logs and histories."""

from collections.abc import Sequence
from pathlib import Path

from tests.acceptance.matrix.trial_plan import TrialPlan
from tests.acceptance.recording_client import ClientLedger
from tests.acceptance.trial import Trial
from workflows.domain.errors import Unavailable

_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'holdfast' ORDER BY tablename"


async def keep(trial: Trial, plan: TrialPlan, problems: Sequence[str]) -> None:
    """Write the evidence; effects and workers' logs lie in the folder already."""
    folder = trial.directory
    (folder / "problems.txt").write_text("\n".join(problems) + "\n")
    (folder / "plan.json").write_text(plan.model_dump_json(indent=1))
    (folder / "client.jsonl").write_text("\n".join(_sent(trial.ledger)))
    requests = [entry.model_dump_json() for entry in trial.harness.model.ledger.entries]
    (folder / "model.jsonl").write_text("\n".join(requests))
    await trial.tell()
    try:
        await _dump(trial, folder / "tables")
    except Unavailable as error:
        (folder / "tables.txt").write_text(str(error))


def _sent(ledger: ClientLedger) -> list[str]:
    return [repr(each) for each in (*ledger.prompts, *ledger.answers, *ledger.stops)]


async def _dump(trial: Trial, folder: Path) -> None:
    folder.mkdir()
    async with trial.harness.client.database.transaction() as connection:
        names = [name for (name,) in await (await connection.execute(_TABLES)).fetchall()]
        for name in names:
            rows = await (await connection.execute(f'SELECT to_json(t)::text FROM "{name}" t'.encode())).fetchall()
            (folder / f"{name}.jsonl").write_text("\n".join(row for (row,) in rows))
