"""The Temporal client with our data converter, and what an external server must be told."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from google.protobuf.duration_pb2 import Duration
from temporalio.api.enums.v1 import IndexedValueType, TaskQueueType
from temporalio.api.namespace.v1 import NamespaceConfig
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest, ListSearchAttributesRequest
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import (
    DescribeNamespaceRequest,
    DescribeTaskQueueRequest,
    GetSystemInfoRequest,
    UpdateNamespaceRequest,
)
from temporalio.client import Client, Interceptor
from temporalio.contrib.pydantic import PydanticPayloadConverter, ToJsonOptions, pydantic_data_converter
from temporalio.envconfig import ClientConfig, ClientConnectConfig
from temporalio.runtime import Runtime
from temporalio.service import RPCError, RPCStatusCode

from activities.store.engines import Engine
from worker.settings import Settings
from worker.stack.state import Endpoints
from workflows.domain.attributes import KEYWORDS
from workflows.domain.errors import Unavailable

_QUOTED: Final = re.compile(r'message: "([^"]+)"')


class _PayloadConverter(PydanticPayloadConverter):
    """Leaves out what was never set: histories stay small, and a new field with a default changes no old payload."""

    def __init__(self) -> None:
        super().__init__(ToJsonOptions(exclude_unset=True))


DATA_CONVERTER: Final = replace(pydantic_data_converter, payload_converter_class=_PayloadConverter)


async def connect(
    settings: Settings,
    endpoints: Endpoints,
    *,
    runtime: Runtime | None = None,
    interceptors: Sequence[Interceptor] = (),
) -> Client:
    """A client of the stack's Temporal, or of the external one that the environment names. Raises Unavailable."""
    config = ClientConnectConfig(target_host=endpoints.temporal_address, namespace=settings.namespace)
    if settings.external_temporal is not None:
        named = ClientConfig.load_client_connect_config(override_env_vars=dict(settings.environment))
        config = ClientConnectConfig(**{**config, **named})
    try:
        return await Client.connect(
            **config,
            data_converter=DATA_CONVERTER,
            identity=settings.identity,
            runtime=runtime,
            interceptors=interceptors,
        )
    except RuntimeError as error:
        raise Unavailable(f"Temporal cannot be reached at {config['target_host']!r}: {_reason(error)}") from error


def _reason(error: RuntimeError) -> str:
    """What the operating system has said, if the driver quotes it amid its own types."""
    quoted = _QUOTED.search(str(error))
    return quoted[1] if quoted else str(error)


async def register_attributes(client: Client) -> None:
    """Tell an external Temporal of our search attributes. Raises Unavailable when it takes none from clients, and they
    are not there."""
    if set(KEYWORDS) <= await _attributes(client):
        return
    wanted = dict.fromkeys(KEYWORDS, IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD)
    request = AddSearchAttributesRequest(namespace=client.namespace, search_attributes=wanted)
    try:
        await client.operator_service.add_search_attributes(request)
    except RPCError as error:
        if error.status is RPCStatusCode.ALREADY_EXISTS or await _searchable(client):
            return
        raise Unavailable(
            f"Temporal does not take our search attributes ({error.message}): add {', '.join(KEYWORDS)} of type "
            f"Keyword to namespace {client.namespace!r} by hand."
        ) from error


async def _attributes(client: Client) -> set[str]:
    """The search attributes that the namespace has, as far as the server tells."""
    request = ListSearchAttributesRequest(namespace=client.namespace)
    try:
        return set((await client.operator_service.list_search_attributes(request)).custom_attributes)
    except RPCError:
        return set()


async def _searchable(client: Client) -> bool:
    """Whether runs can be looked for by our search attributes, which whoever may work may do; to list attributes and to
    add some are matters of the server's operators."""
    try:
        await client.count_workflows(" AND ".join(f"{name} = 'x'" for name in KEYWORDS))
    except RPCError:
        return False
    return True


async def retain(client: Client, days: int) -> None:
    """Have the engine keep runs that have finished for so many days. Raises Unavailable."""
    kept = NamespaceConfig(workflow_execution_retention_ttl=Duration(seconds=days * 86_400))
    try:
        await client.workflow_service.update_namespace(UpdateNamespaceRequest(namespace=client.namespace, config=kept))
    except RPCError as error:
        raise Unavailable(f"Temporal does not take a retention of {days} days: {error.message}") from error


async def pollers(client: Client, task_queue: str) -> int:
    """How many workers have asked this queue for workflow tasks within the last minutes. Raises Unavailable."""
    request = DescribeTaskQueueRequest(
        namespace=client.namespace,
        task_queue=TaskQueue(name=task_queue),
        task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
    )
    try:
        return len((await client.workflow_service.describe_task_queue(request)).pollers)
    except RPCError as error:
        raise Unavailable(f"Temporal does not tell who polls {task_queue!r}: {error.message}") from error


async def engine(client: Client) -> Engine:
    """Which Temporal this is: its namespace by the id that no other one has, also where one moves to another address.

    Raises Unavailable.
    """
    target = f"namespace {client.namespace!r} at {client.service_client.config.target_host}"
    try:
        found = await client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace=client.namespace))
    except RPCError as error:
        raise Unavailable(f"Temporal does not tell of namespace {client.namespace!r}: {error.message}") from error
    return Engine(namespace=found.namespace_info.id, target=target)


async def version(client: Client) -> str:
    """What the server calls its version. Raises Unavailable."""
    try:
        return (await client.workflow_service.get_system_info(GetSystemInfoRequest())).server_version
    except RPCError as error:
        raise Unavailable(f"Temporal does not tell its version: {error.message}") from error
