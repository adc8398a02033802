"""The doorbell: starts runs by the engine's bare service; its whole client takes twice as long to import.

Nor does it import the engine's converters: what they would make of a start is a few words of JSON.
"""

import json
import uuid

from temporalio.api.common.v1 import Payload
from temporalio.api.enums.v1 import WorkflowIdReusePolicy
from temporalio.api.workflowservice.v1 import SignalWithStartWorkflowExecutionRequest
from temporalio.service import ConnectConfig, ServiceClient

from worker.bells import WORKFLOW, Start, Starter
from worker.settings import Settings
from worker.stack.state import Endpoints
from workflows.domain.errors import Unavailable


async def doorbell(settings: Settings, endpoints: Endpoints) -> Starter:
    """For a command that rings once or twice at the embedded Temporal. Raises Unavailable."""
    config = ConnectConfig(target_host=endpoints.temporal_address, identity=settings.identity)
    try:
        service = await ServiceClient.connect(config)
    except RuntimeError as error:
        raise Unavailable(f"Temporal cannot be reached at {endpoints.temporal_address!r}: {error}") from error

    async def start(run: Start) -> None:
        request = _request(settings, run)
        await service.workflow_service.signal_with_start_workflow_execution(request, retry=True)

    return start


def _request(settings: Settings, run: Start) -> SignalWithStartWorkflowExecutionRequest:
    """What the whole client sends for it, as far as we use it."""
    request = SignalWithStartWorkflowExecutionRequest(
        namespace=settings.namespace,
        workflow_id=run.id,
        signal_name=run.signal,
        identity=settings.identity,
        request_id=str(uuid.uuid4()),
        workflow_id_reuse_policy=WorkflowIdReusePolicy.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
    )
    request.workflow_type.name = WORKFLOW
    request.task_queue.name = run.task_queue
    request.workflow_task_timeout.FromTimedelta(run.task_timeout)
    request.input.payloads.append(_json(run.state.model_dump_json(exclude_unset=True)))
    request.signal_input.payloads.append(_json(run.reference.model_dump_json(exclude_unset=True)))
    for pair in run.search_attributes:  # all of ours are keywords
        request.search_attributes.indexed_fields[pair.key.name].CopyFrom(_json(json.dumps(pair.value), type=b"Keyword"))
    request.user_metadata.summary.CopyFrom(_json(json.dumps(run.summary)))
    request.user_metadata.details.CopyFrom(_json(json.dumps(run.details)))
    return request


def _json(text: str, **more: bytes) -> Payload:
    return Payload(metadata={"encoding": b"json/plain", **more}, data=text.encode())
