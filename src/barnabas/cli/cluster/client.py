"""librdkafka clients for the commands, and their errors as one sentence.

All commands reach a cluster through :func:`reach`, which first opens a plain connection to each
bootstrap address in turn. librdkafka itself waits for a broker that may yet come up, while a user
at a terminal wants to know at once that no broker listens, and why.

librdkafka's log is dropped. It goes to stderr by default, several lines for one refused connection.
The errors that matter are returned by the call or passed to the error callback; :class:`Admin` adds
the last of those when a response never arrives.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicCollection
from confluent_kafka.admin import AdminClient

from barnabas.cli.cluster.admin_request import error_words, may_ask
from barnabas.cli.cluster.topic_metadata import TopicDescription, ask_for_topics, from_librdkafka
from barnabas.cli.errors import Refused
from barnabas.config.addresses import host_and_port
from barnabas.config.keys import ConfigError
from barnabas.config.properties import read_properties
from barnabas.model.errors import ErrorCode

DEFAULT_BOOTSTRAP = "localhost:9092"
# A broker on the same continent accepts in a fraction of this.
CONNECT_SECONDS_MAX = 5.0
# The longest a request may take. The slowest requests wait for a new leader after a broker was
# killed, and the session of that broker alone takes nine seconds to expire.
ANSWER_SECONDS_MAX = 30.0
# How long to wait for a response before the error callback gets a turn.
_PATIENCE_SECONDS = 0.2

Bootstrap = Annotated[
    str | None,
    typer.Option(
        "--bootstrap",
        envvar="BARNABAS_BOOTSTRAP",
        metavar="HOST:PORT,...",
        help=f"Addresses of the cluster; {DEFAULT_BOOTSTRAP} if neither this nor the config file has any.",
    ),
]
ConfigFile = Annotated[
    Path | None, typer.Option("--config-file", metavar="FILE", help="Properties for the client, with librdkafka's names.")
]

# confluent-kafka's annotations make every field of a message optional, also those that are always
# set.
Message: TypeAlias = Any
# librdkafka's own errors begin with an underscore, which does not make them private.
PARTITION_EOF = KafkaError._PARTITION_EOF  # noqa: SLF001
_UNANSWERED = frozenset({KafkaError._TIMED_OUT, KafkaError._TRANSPORT})  # noqa: SLF001

_silence = logging.getLogger("barnabas.librdkafka")
_silence.addHandler(logging.NullHandler())
_silence.propagate = False


@dataclass(frozen=True, slots=True)
class Cluster:
    """The addresses of a cluster and the properties for its clients. Clients are made from it, each
    with settings of its own."""

    bootstrap: str
    reachable: str  # the first bootstrap address that took a connection
    properties: Mapping[str, str]

    @property
    def addresses(self) -> list[str]:
        """All bootstrap addresses, the one that took a connection first."""
        return list(dict.fromkeys([self.reachable, *(each.strip() for each in self.bootstrap.split(","))]))

    def admin(self) -> Admin:
        complaints: list[KafkaError] = []
        client = _make(AdminClient, self._settings({"error_cb": complaints.append}))
        return Admin(self, client, complaints)

    def producer(self, settings: Mapping[str, Any]) -> Producer:
        # librdkafka's default partitioner assigns keys to other partitions than Java's producers
        # do.
        made: Producer = _make(Producer, {"partitioner": "murmur2_random", **self._settings(settings)})
        return made

    def consumer(self, settings: Mapping[str, Any]) -> Consumer:
        """A consumer with assigned partitions: it joins no group and commits nothing, although
        librdkafka requires a group id."""
        own = {"group.id": "barnabas-cli", "enable.auto.commit": False, "enable.auto.offset.store": False}
        made: Consumer = _make(Consumer, self._settings({**own, **settings}))
        return made

    def refusal(self, exception: KafkaException, doing: str, complaints: Sequence[KafkaError] = ()) -> Refused:
        """``doing`` begins the sentence: "Cannot create topic t"."""
        error = error_of(exception)
        if error.code() in _UNANSWERED:
            last = f", and {phrase(complaints[-1])}" if complaints else ""
            return Refused(f"{doing}: no answer from {self.bootstrap} within {ANSWER_SECONDS_MAX:g} seconds{last}.")
        return Refused(f"{doing}: {phrase(error)}.")

    def _settings(self, more: Mapping[str, Any]) -> dict[str, Any]:
        return {**self.properties, "bootstrap.servers": self.bootstrap, "logger": _silence, **more}


def reach(bootstrap: str | None, config_file: Path | None) -> Cluster:
    """The cluster that the options name. Raises ``Refused`` when no broker listens there."""
    properties = _read_config_file(config_file) if config_file is not None else {}
    addresses = bootstrap or properties.get("bootstrap.servers") or DEFAULT_BOOTSTRAP
    return Cluster(addresses, _first_reachable(addresses), properties)


@dataclass(frozen=True, slots=True)
class Admin:
    """librdkafka's admin client and the errors that it has reported so far."""

    cluster: Cluster
    client: AdminClient
    complaints: list[KafkaError] = field(default_factory=list)

    def answer(self, future: Future[Any], doing: str) -> Any:
        """The broker's response. Raises ``Refused`` with "``doing``: reason" when the broker
        returns an error."""
        try:
            return self.answer_or_error(future)
        except KafkaException as error:
            raise self.refusal(error, doing) from error

    def answer_or_error(self, future: Future[Any]) -> Any:
        """Like :meth:`answer`, for callers that handle some errors themselves: errors are raised as
        ``KafkaException``."""
        while True:
            try:
                return future.result(timeout=_PATIENCE_SECONDS)
            except TimeoutError:
                self.client.poll(0)

    def refusal(self, exception: KafkaException, doing: str) -> Refused:
        self.client.poll(0)
        return self.cluster.refusal(exception, doing, self.complaints)

    def describe_topics(self, names: list[str], *, missing_ok: bool = False) -> dict[str, TopicDescription]:
        """Raises ``Refused`` when a topic does not exist. Never creates a topic, as asking a
        producer for metadata may.

        ``missing_ok`` leaves missing topics out instead: a topic may be deleted between a listing
        and this request."""
        if not names:
            return {}
        if may_ask(self.cluster.properties):
            return self._describe_by_request(names, missing_ok)
        futures = self.client.describe_topics(TopicCollection(names), request_timeout=ANSWER_SECONDS_MAX)
        described = {}
        for name, future in futures.items():
            try:
                described[name] = from_librdkafka(self.answer_or_error(future))
            except KafkaException as error:
                if error_of(error).code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                    if missing_ok:
                        continue
                    raise Refused(f"There is no topic {name}.") from error
                raise self.refusal(error, f"Cannot describe topic {name}") from error
        return described

    def _describe_by_request(self, names: list[str], missing_ok: bool) -> dict[str, TopicDescription]:
        described, errors = ask_for_topics(self.cluster.reachable, self.cluster.properties, names, seconds_max=ANSWER_SECONDS_MAX)
        for name, code in errors.items():
            if code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                if missing_ok:
                    continue
                raise Refused(f"There is no topic {name}.")
            raise Refused(f"Cannot describe topic {name}: {error_words(code)}.")
        return described


def error_of(exception: KafkaException) -> KafkaError:
    error: KafkaError = exception.args[0]
    return error


def phrase(error: KafkaError) -> str:
    """An error's text as part of a sentence: on one line, without librdkafka's prefix and without a
    full stop."""
    text = " ".join(error.str().split())
    for mark in ("Broker: ", "Local: "):
        text = text.removeprefix(mark)
    return text.rstrip(".!") or error.name()


def _make(client: Any, settings: dict[str, Any]) -> Any:
    try:
        return client(settings)
    except KafkaException as error:
        raise Refused(f"The client cannot be configured: {phrase(error_of(error))}.") from error
    except (TypeError, ValueError) as error:
        raise Refused(f"The client cannot be configured: {error}.") from error


def _read_config_file(path: Path) -> dict[str, str]:
    try:
        return read_properties(path.read_text("utf-8"))
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}.") from error
    except (ConfigError, UnicodeDecodeError) as error:
        raise Refused(f"{path} is not a properties file: {error}.") from error


def _first_reachable(bootstrap: str) -> str:
    reasons = []
    for text in bootstrap.split(","):
        place = host_and_port(text.strip())
        if place is None or not place[0]:
            raise Refused(f"--bootstrap takes host:port, several separated by commas, but was given {bootstrap!r}.")
        try:
            socket.create_connection(place, timeout=CONNECT_SECONDS_MAX).close()
        except OSError as error:
            reasons.append(f"{text.strip()} ({_reason(error)})")
        else:
            return text.strip()
    raise Refused(f"No broker can be reached at {', '.join(reasons)}.")


def _reason(error: OSError) -> str:
    if isinstance(error, TimeoutError):
        return f"no connection within {CONNECT_SECONDS_MAX:g} seconds"
    return (error.strerror or os.strerror(error.errno or 0)).lower()
