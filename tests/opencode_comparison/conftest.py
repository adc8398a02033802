"""Harnesses, as workflow tests have them."""

from tests.workflows.conftest import open_harness as open_harness
from tests.workflows.conftest import pooler_url as pooler_url
from tests.workflows.conftest import port as port
from tests.workflows.conftest import with_sweeper as with_sweeper
