"""librdkafka clients for the commands, and what they complain about as one sentence.

All commands reach a cluster through :func:`reach`, which first opens a plain connection to each bootstrap address in turn: librdkafka
waits for a broker that may yet come up, and somebody at a terminal wants to hear at once that nobody is there, and why.

What librdkafka logs is dropped. It logs to stderr by itself, several lines for one refused connection; what matters comes back as an error
of the call, or through the error callback, whose last words :class:`Admin` adds when an answer never came.
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
# As long as a request may take: the slowest waits for the next leader after one was killed, which takes a session of nine seconds and more.
ANSWER_SECONDS_MAX = 30.0
# How long an answer is waited for before the error callback gets a turn.
_PATIENCE_SECONDS = 0.2

Bootstrap = Annotated[
    str | None,
    typer.Option(
        "--bootstrap",
        envvar="BARNABAS_BOOTSTRAP",
        metavar="HOST:PORT,...",
        help=f"Where to find the cluster; {DEFAULT_BOOTSTRAP} when neither this nor the config file says it.",
    ),
]
ConfigFile = Annotated[
    Path | None, typer.Option("--config-file", metavar="FILE", help="Properties for the client, with librdkafka's names.")
]

# confluent-kafka's own annotations make everything optional that a message has, also where it cannot be missing.
Message: TypeAlias = Any
# librdkafka's own errors begin with an underscore, which does not make them private.
PARTITION_EOF = KafkaError._PARTITION_EOF  # noqa: SLF001
_UNANSWERED = frozenset({KafkaError._TIMED_OUT, KafkaError._TRANSPORT})  # noqa: SLF001

_silence = logging.getLogger("barnabas.librdkafka")
_silence.addHandler(logging.NullHandler())
_silence.propagate = False


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where a cluster is and how to speak to it. Clients are made from it, each with settings of its own."""

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
        # librdkafka's own choice sends a key elsewhere than Java's producers do.
        made: Producer = _make(Producer, {"partitioner": "murmur2_random", **self._settings(settings)})
        return made

    def consumer(self, settings: Mapping[str, Any]) -> Consumer:
        """A consumer that is told its partitions: it joins no group and commits nothing, though librdkafka wants a group's name."""
        own = {"group.id": "barnabas-cli", "enable.auto.commit": False, "enable.auto.offset.store": False}
        made: Consumer = _make(Consumer, self._settings({**own, **settings}))
        return made

    def refusal(self, wrong: KafkaException, doing: str, complaints: Sequence[KafkaError] = ()) -> Refused:
        """``doing`` begins the sentence: "Cannot create topic t"."""
        error = error_of(wrong)
        if error.code() in _UNANSWERED:
            last = f", and {phrase(complaints[-1])}" if complaints else ""
            return Refused(f"{doing}: no answer from {self.bootstrap} within {ANSWER_SECONDS_MAX:g} seconds{last}.")
        return Refused(f"{doing}: {phrase(error)}.")

    def _settings(self, more: Mapping[str, Any]) -> dict[str, Any]:
        return {**self.properties, "bootstrap.servers": self.bootstrap, "logger": _silence, **more}


def reach(bootstrap: str | None, config_file: Path | None) -> Cluster:
    """The cluster that the options name. ``Refused`` when nobody listens there."""
    properties = _read_config_file(config_file) if config_file is not None else {}
    addresses = bootstrap or properties.get("bootstrap.servers") or DEFAULT_BOOTSTRAP
    return Cluster(addresses, _first_reachable(addresses), properties)


@dataclass(frozen=True, slots=True)
class Admin:
    """librdkafka's admin client and what it has complained about so far."""

    cluster: Cluster
    client: AdminClient
    complaints: list[KafkaError] = field(default_factory=list)

    def answer(self, future: Future[Any], doing: str) -> Any:
        """What the broker answered. ``Refused`` with "``doing``: why" when it would not."""
        try:
            return self.answer_or_error(future)
        except KafkaException as wrong:
            raise self.refusal(wrong, doing) from wrong

    def answer_or_error(self, future: Future[Any]) -> Any:
        """Like :meth:`answer`, for callers to whom some errors are answers: those come as ``KafkaException``."""
        while True:
            try:
                return future.result(timeout=_PATIENCE_SECONDS)
            except TimeoutError:
                self.client.poll(0)

    def refusal(self, wrong: KafkaException, doing: str) -> Refused:
        self.client.poll(0)
        return self.cluster.refusal(wrong, doing, self.complaints)

    def describe_topics(self, names: list[str], *, missing_ok: bool = False) -> dict[str, TopicDescription]:
        """``Refused`` when one of them does not exist. Never makes a topic, as asking a producer for metadata may.

        ``missing_ok`` leaves those out instead: between a listing and this question somebody may delete a topic."""
        if not names:
            return {}
        if may_ask(self.cluster.properties):
            return self._describe_by_request(names, missing_ok)
        futures = self.client.describe_topics(TopicCollection(names), request_timeout=ANSWER_SECONDS_MAX)
        described = {}
        for name, future in futures.items():
            try:
                described[name] = from_librdkafka(self.answer_or_error(future))
            except KafkaException as wrong:
                if error_of(wrong).code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                    if missing_ok:
                        continue
                    raise Refused(f"There is no topic {name}.") from wrong
                raise self.refusal(wrong, f"Cannot describe topic {name}") from wrong
        return described

    def _describe_by_request(self, names: list[str], missing_ok: bool) -> dict[str, TopicDescription]:
        described, wrong = ask_for_topics(self.cluster.reachable, self.cluster.properties, names, seconds_max=ANSWER_SECONDS_MAX)
        for name, code in wrong.items():
            if code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                if missing_ok:
                    continue
                raise Refused(f"There is no topic {name}.")
            raise Refused(f"Cannot describe topic {name}: {error_words(code)}.")
        return described


def error_of(wrong: KafkaException) -> KafkaError:
    error: KafkaError = wrong.args[0]
    return error


def phrase(error: KafkaError) -> str:
    """An error's text as part of a sentence: on one line, without librdkafka's mark of whose error it is, without a full stop."""
    text = " ".join(error.str().split())
    for mark in ("Broker: ", "Local: "):
        text = text.removeprefix(mark)
    return text.rstrip(".!") or error.name()


def _make(client: Any, settings: dict[str, Any]) -> Any:
    try:
        return client(settings)
    except KafkaException as wrong:
        raise Refused(f"The client cannot be configured: {phrase(error_of(wrong))}.") from wrong
    except (TypeError, ValueError) as wrong:
        raise Refused(f"The client cannot be configured: {wrong}.") from wrong


def _read_config_file(path: Path) -> dict[str, str]:
    try:
        return read_properties(path.read_text("utf-8"))
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}.") from error
    except (ConfigError, UnicodeDecodeError) as wrong:
        raise Refused(f"{path} is not a properties file: {wrong}.") from wrong


def _first_reachable(bootstrap: str) -> str:
    reasons = []
    for text in bootstrap.split(","):
        place = host_and_port(text.strip())
        if place is None or not place[0]:
            raise Refused(f"--bootstrap takes host:port, several with commas between them, but was given {bootstrap!r}.")
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
