"""The deletion of groups of any kind."""

from __future__ import annotations

from collections.abc import Iterable

import typer

from barnabas.cli.cluster.broker_requests import Brokers, CoordinatorOf, refuse_error
from barnabas.cli.errors import Refused
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse


def delete_groups(brokers: Brokers, names: Iterable[str]) -> None:
    for name in dict.fromkeys(names):
        response: DeleteGroupsResponse = brokers.ask_coordinator(
            CoordinatorOf.GROUP, name, DeleteGroupsRequest(groups_names=[name]), codes=lambda response: [response.results[0].error_code]
        )
        code = response.results[0].error_code
        if code == ErrorCode.GROUP_ID_NOT_FOUND:
            raise Refused(f"There is no group {name}.")
        if code == ErrorCode.NON_EMPTY_GROUP:
            raise Refused(f"Group {name} has members, so it cannot be deleted.")
        refuse_error(code, None, f"Cannot delete group {name}")
        typer.echo(f"Deleted group {name}.")
