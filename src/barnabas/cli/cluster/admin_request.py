"""One request to one broker, for the few requests that librdkafka does not support.

librdkafka alters the settings of topics, brokers and groups. It cannot name the defaults of all
brokers, a broker's loggers and the subscriptions to client metrics: it refuses an empty resource
name and knows only three of Kafka's resource types. These requests go through
:mod:`barnabas.direct_requests`, and a failure there is a ``Refused`` of the command.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from barnabas.cli.errors import Refused
from barnabas.direct_requests.broker_connection import BrokerConnection, may_connect
from barnabas.direct_requests.errors import RequestRefused
from barnabas.model.errors import ErrorCode

_CLIENT_ID = "barnabas-cli"


def may_ask(properties: Mapping[str, str]) -> bool:
    return may_connect(properties)


def ask(address: str, properties: Mapping[str, str], request: Any, *, seconds_max: float, version_max: int | None = None) -> Any:
    """The response to ``request``, in the newest version that both sides speak. Raises ``Refused``
    with the reason when there is none.

    ``version_max`` is for requests whose newer versions have other fields, such as those that name
    topics by their ids."""
    try:
        with BrokerConnection(address, properties, seconds_max=seconds_max, client_id=_CLIENT_ID) as connection:
            return connection.ask(request, version_max=version_max)
    except RequestRefused as refused:
        raise Refused(str(refused)) from refused


def error_words(code: int) -> str:
    """The name of an error code; the number of a code that this release does not know."""
    return ErrorCode(code).name.lower().replace("_", " ") if code in ErrorCode._value2member_map_ else f"error {code}"
