"""A stack's size on disk."""

from tests.worker.stack.test_external_servers import NOBODY, all_elsewhere
from worker.settings import Settings
from worker.stack import sizes


async def test_a_database_elsewhere_is_measured_whatever_runs_here(settings: Settings, postgres_url: str) -> None:
    there, away = (all_elsewhere(settings, url, NOBODY) for url in (postgres_url, f"postgresql://me@{NOBODY}/work"))

    assert ((await sizes.measure_sizes(there, None)).postgres or 0) > 1_000_000
    assert (await sizes.measure_sizes(away, None)).postgres is None
