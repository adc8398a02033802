"""The doorbell: rings as Bells do, by the engine's bare service; its whole client takes twice as long to import."""

import uuid
from typing import Self

from temporalio.api.enums.v1 import WorkflowIdReusePolicy
from temporalio.api.workflowservice.v1 import SignalWithStartWorkflowExecutionRequest
from temporalio.converter import encode_search_attributes
from temporalio.service import ConnectConfig, ServiceClient

from activities.store.database import Database
from worker.bells import WORKFLOW, Bells, Start
from worker.payloads import DATA_CONVERTER
from worker.settings import Settings
from worker.stack.state import Endpoints
from workflows.domain.errors import Unavailable


class Doorbell(Bells):
    """Bells for a command that rings once or twice at the embedded Temporal."""

    def __init__(self, database: Database, service: ServiceClient, settings: Settings) -> None:
        super().__init__(database, None, settings)
        self.service = service

    @classmethod
    async def connect(cls, database: Database, settings: Settings, endpoints: Endpoints) -> Self:
        """Raises Unavailable."""
        config = ConnectConfig(target_host=endpoints.temporal_address, identity=settings.identity)
        try:
            return cls(database, await ServiceClient.connect(config), settings)
        except RuntimeError as error:
            raise Unavailable(f"Temporal cannot be reached at {endpoints.temporal_address!r}: {error}") from error

    async def _start(self, start: Start) -> None:
        """Signal with start: what the client sends for it, as far as we use it."""
        request = SignalWithStartWorkflowExecutionRequest(
            namespace=self.settings.namespace,
            workflow_id=start.id,
            signal_name=start.signal,
            identity=self.settings.identity,
            request_id=str(uuid.uuid4()),
            workflow_id_reuse_policy=WorkflowIdReusePolicy.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
        )
        request.workflow_type.name = WORKFLOW
        request.task_queue.name = start.task_queue
        request.workflow_task_timeout.FromTimedelta(start.task_timeout)
        request.input.payloads.extend(await DATA_CONVERTER.encode([start.state]))
        request.signal_input.payloads.extend(await DATA_CONVERTER.encode([start.reference]))
        encode_search_attributes(start.search_attributes, request.search_attributes)
        summary, details = await DATA_CONVERTER.encode([start.summary, start.details])
        request.user_metadata.summary.CopyFrom(summary)
        request.user_metadata.details.CopyFrom(details)
        await self.service.workflow_service.signal_with_start_workflow_execution(request, retry=True)
