"""The Temporal client with our data converter."""

import asyncio
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Final, cast

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
from temporalio.converter import PayloadConverter
from temporalio.envconfig import ClientConfig, ClientConnectConfig
from temporalio.runtime import Runtime
from temporalio.service import RPCError, RPCStatusCode

from activities.store.engines import EngineIdentity
from worker.settings import Settings
from worker.stack.state_file import Endpoints
from workflows.domain.errors import Unavailable
from workflows.domain.search_attributes import KEYWORD_ATTRIBUTES

_CONNECT_TIMEOUT: Final = 10.0  # seconds
_POLL_INTERVAL: Final = timedelta(seconds=90)  # a poll without a task ends after 60 s
_QUOTED: Final = re.compile(r'message: "([^"]+)"')


@cache
def _payload_converter() -> PayloadConverter:
    """Omits unset fields: histories stay small, and a new field's default changes no old payload. The SDK wants one per
    workflow task, and each keeps the types that it has met: they share this one."""
    return PydanticPayloadConverter(ToJsonOptions(exclude_unset=True))


DATA_CONVERTER: Final = replace(
    pydantic_data_converter, payload_converter_class=cast(type[PayloadConverter], _payload_converter)
)


async def connect(
    settings: Settings,
    endpoints: Endpoints,
    *,
    runtime: Runtime | None = None,
    interceptors: Sequence[Interceptor] = (),
) -> Client:
    """A client of the stack's or an external Temporal. Raises Unavailable."""
    config = ClientConnectConfig(target_host=endpoints.temporal_address, namespace=settings.namespace)
    if settings.external_temporal is not None:
        named = ClientConfig.load_client_connect_config(override_env_vars=dict(settings.environment))
        config = ClientConnectConfig(**{**config, **named})
    try:
        async with asyncio.timeout(_CONNECT_TIMEOUT):
            return await Client.connect(
                **config,
                data_converter=DATA_CONVERTER,
                identity=settings.identity,
                runtime=runtime,
                interceptors=interceptors,
            )
    except TimeoutError:
        raise Unavailable(
            f"Temporal cannot be reached at {config['target_host']!r}: no answer in {_CONNECT_TIMEOUT:.0f} s"
        ) from None
    except RuntimeError as error:
        quoted = _QUOTED.search(str(error))
        reason = quoted[1] if quoted else error
        raise Unavailable(f"Temporal cannot be reached at {config['target_host']!r}: {reason}") from error


@contextmanager
def _described(failure: str) -> Iterator[None]:
    """Raises Unavailable with this description."""
    try:
        yield
    except RPCError as error:
        raise Unavailable(f"Temporal does not {failure}: {error.message}") from error


async def register_attributes(client: Client) -> None:
    """Raises Unavailable if our search attributes are missing and clients may not add them."""
    if set(KEYWORD_ATTRIBUTES) <= await _registered_attributes(client):
        return
    wanted = dict.fromkeys(KEYWORD_ATTRIBUTES, IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD)
    request = AddSearchAttributesRequest(namespace=client.namespace, search_attributes=wanted)
    try:
        await client.operator_service.add_search_attributes(request)
    except RPCError as error:
        if error.status is RPCStatusCode.ALREADY_EXISTS or await _searchable(client):
            return
        raise Unavailable(
            f"Temporal does not take our search attributes ({error.message}): add {', '.join(KEYWORD_ATTRIBUTES)} as "
            f"Keyword to namespace {client.namespace!r} by hand."
        ) from error


async def _registered_attributes(client: Client) -> set[str]:
    request = ListSearchAttributesRequest(namespace=client.namespace)
    try:
        return set((await client.operator_service.list_search_attributes(request)).custom_attributes)
    except RPCError:
        return set()


async def _searchable(client: Client) -> bool:
    """Any worker may query; listing and adding may need an operator."""
    try:
        await client.count_workflows(" AND ".join(f"{name} = 'x'" for name in KEYWORD_ATTRIBUTES))
    except RPCError:
        return False
    return True


async def set_retention(client: Client, days: int) -> None:
    """Have the engine keep finished runs for `days`. Raises Unavailable."""
    config = NamespaceConfig(workflow_execution_retention_ttl=Duration(seconds=days * 86_400))
    request = UpdateNamespaceRequest(namespace=client.namespace, config=config)
    with _described(f"take a retention of {days} days"):
        await client.workflow_service.update_namespace(request)


async def count_pollers(client: Client, task_queue: str) -> int:
    """Workers that polled this queue in the last minutes. Raises Unavailable."""
    return len(await _last_polls(client, task_queue))


async def is_served(client: Client, task_queue: str) -> bool:
    """Whether a worker polls this queue. Raises Unavailable."""
    return any(datetime.now(UTC) - at < _POLL_INTERVAL for at in await _last_polls(client, task_queue))


async def _last_polls(client: Client, task_queue: str) -> list[datetime]:
    request = DescribeTaskQueueRequest(
        namespace=client.namespace,
        task_queue=TaskQueue(name=task_queue),
        task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
    )
    with _described(f"tell who polls {task_queue!r}"):
        pollers = (await client.workflow_service.describe_task_queue(request)).pollers
    return [poller.last_access_time.ToDatetime(UTC) for poller in pollers]


async def identify_engine(client: Client) -> EngineIdentity:
    """Identify a Temporal by its namespace's id, independent of its address. Raises Unavailable."""
    target = f"namespace {client.namespace!r} at {client.service_client.config.target_host}"
    with _described(f"tell of namespace {client.namespace!r}"):
        found = await client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace=client.namespace))
    return EngineIdentity(namespace=found.namespace_info.id, target=target)


async def server_version(client: Client) -> str:
    """Raises Unavailable."""
    with _described("tell its version"):
        return (await client.workflow_service.get_system_info(GetSystemInfoRequest())).server_version
