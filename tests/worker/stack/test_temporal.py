"""The embedded Temporal: its settings apply, and a half-made file does no harm."""

import psutil
import pytest
from temporalio.api.command.v1 import Command, ScheduleActivityTaskCommandAttributes
from temporalio.api.common.v1 import ActivityType, WorkflowType
from temporalio.api.enums.v1 import CommandType
from temporalio.api.operatorservice.v1 import ListSearchAttributesRequest
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import (
    PollWorkflowTaskQueueRequest,
    RespondWorkflowTaskCompletedRequest,
    StartWorkflowExecutionRequest,
)
from temporalio.client import Client

from tests.worker.stack.conftest import pid
from worker.settings import Settings
from worker.stack.down import down
from worker.stack.ports import Ports
from worker.stack.state_file import Endpoints, PartName
from worker.stack.temporal import DYNAMIC, TemporalFiles, TemporalService
from worker.stack.up import up
from workflows.domain.errors import Unavailable
from workflows.domain.search_attributes import KEYWORD_ATTRIBUTES


async def test_an_activity_comes_back_with_the_answer_to_the_workflow_task(
    temporal_client: Client, task_queue: str
) -> None:
    """The effect of a dynamic setting that is off by default: so the settings of the command line are in force."""
    await _start(temporal_client, task_queue)

    answered = await temporal_client.workflow_service.respond_workflow_task_completed(
        RespondWorkflowTaskCompletedRequest(
            namespace=temporal_client.namespace,
            task_token=await _task_token(temporal_client, task_queue),
            commands=[_eager_activity(task_queue)],
        )
    )

    assert [task.activity_id for task in answered.activity_tasks] == ["eager"]


def test_the_server_runs_with_all_our_settings(settings: Settings, stack: Endpoints) -> None:
    arguments = psutil.Process(pid(settings, PartName.TEMPORAL)).cmdline()

    given = {value for flag, value in zip(arguments, arguments[1:], strict=False) if flag == "--dynamic-config-value"}

    assert given >= set(DYNAMIC)


def test_the_server_listens_on_loopback_only(settings: Settings, stack: Endpoints) -> None:
    connections = psutil.Process(pid(settings, PartName.TEMPORAL)).net_connections()

    assert {connection.laddr.ip for connection in connections if connection.status == psutil.CONN_LISTEN} == {
        "127.0.0.1"
    }


def test_secrets_of_the_shell_do_not_reach_the_server(settings: Settings, stack: Endpoints) -> None:
    assert set(psutil.Process(pid(settings, PartName.TEMPORAL)).environ()) <= {"PATH", "HOME", "TMPDIR"}


async def test_a_second_server_on_one_file_is_not_started(settings: Settings, stack: Endpoints) -> None:
    second = TemporalService(settings, Ports(temporal=1, ui=2))

    with pytest.raises(Unavailable, match="let go"):
        await second.start()


async def test_the_search_attributes_are_registered(temporal_client: Client) -> None:
    request = ListSearchAttributesRequest(namespace=temporal_client.namespace)

    registered = await temporal_client.operator_service.list_search_attributes(request)

    assert set(KEYWORD_ATTRIBUTES) <= set(registered.custom_attributes)


def test_its_file_is_written_ahead(settings: Settings, stack: Endpoints) -> None:
    file = TemporalFiles(home=settings.home).file
    assert file.with_name(f"{file.name}-wal").stat().st_size > 0


async def test_a_file_that_never_served_is_made_anew(home: Settings) -> None:
    data = TemporalFiles(home=home.home)
    data.create()
    data.file.write_bytes(b"")  # what a server leaves that is killed before it has made its tables

    await up(home, print, worker=False)

    assert data.version()


async def test_data_of_another_server_are_replaced_and_up_says_so(running: Settings) -> None:
    await down(running, print)
    data = TemporalFiles(home=running.home)
    data.version_file.write_text("1.2\n")
    data.file.write_bytes(b"of another server")
    said: list[str] = []

    await up(running, said.append, worker=False)

    assert any(line.startswith("Temporal's server changes from 1.2 to ") for line in said)
    assert data.version() not in (None, "1.2")


async def _start(client: Client, task_queue: str) -> None:
    await client.workflow_service.start_workflow_execution(
        StartWorkflowExecutionRequest(
            namespace=client.namespace,
            workflow_id=task_queue,
            workflow_type=WorkflowType(name="holdfast.probe"),
            task_queue=TaskQueue(name=task_queue),
            request_id=task_queue,
        )
    )


async def _task_token(client: Client, task_queue: str) -> bytes:
    request = PollWorkflowTaskQueueRequest(namespace=client.namespace, task_queue=TaskQueue(name=task_queue))
    return (await client.workflow_service.poll_workflow_task_queue(request)).task_token


def _eager_activity(task_queue: str) -> Command:
    attributes = ScheduleActivityTaskCommandAttributes(
        activity_id="eager",
        activity_type=ActivityType(name="holdfast.probe"),
        task_queue=TaskQueue(name=task_queue),
        request_eager_execution=True,
    )
    attributes.start_to_close_timeout.FromSeconds(10)
    return Command(
        command_type=CommandType.COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK,
        schedule_activity_task_command_attributes=attributes,
    )
