"""The deletion of a topic."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from barnabas.cli.cluster.reach import ANSWER_SECONDS_MAX
from barnabas.cli.errors import Refused

if TYPE_CHECKING:
    from barnabas.cli.cluster.client import Admin


def delete_topic(admin: Admin, name: str, *, if_exists: bool) -> None:
    from confluent_kafka import KafkaError, KafkaException

    from barnabas.cli.cluster.client import error_of

    (future,) = admin.client.delete_topics([name], request_timeout=ANSWER_SECONDS_MAX).values()
    try:
        admin.answer_or_error(future)
    except KafkaException as error:
        missing = error_of(error).code() == KafkaError.UNKNOWN_TOPIC_OR_PART
        if missing and if_exists:
            return
        raise (Refused(f"There is no topic {name}.") if missing else admin.refusal(error, f"Cannot delete topic {name}")) from error
    typer.echo(f"Deleted topic {name}.")
