"""librdkafka clients for the commands, and their errors as one sentence.

Import this module only where librdkafka is needed; :mod:`~.reach` and :mod:`~.options` have the
rest and load faster. Commands that always need librdkafka may import all from here.

librdkafka's log is dropped. It goes to stderr by default, several lines for one refused connection.
The errors that matter are returned by the call or passed to the error callback; :class:`Admin` adds
the last of those when a response never arrives.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, ShareConsumer, TopicCollection
from confluent_kafka.admin import AdminClient

from barnabas.cli.cluster.admin_request import ask, error_words, may_ask
from barnabas.cli.cluster.options import DEFAULT_BOOTSTRAP, Bootstrap, ConfigFile
from barnabas.cli.cluster.probe import CONNECT_SECONDS_MAX
from barnabas.cli.cluster.reach import ANSWER_SECONDS_MAX, Cluster, reach
from barnabas.cli.cluster.topic_metadata import TopicDescription, ask_for_topics, from_librdkafka
from barnabas.cli.errors import Refused
from barnabas.client_settings.bearer_token import for_librdkafka_client
from barnabas.client_settings.delegation_token import BY_TOKEN, is_by_token
from barnabas.client_settings.errors import SettingsRefused
from barnabas.direct_requests.logins import GSSAPI, mechanism_of
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest

__all__ = [
    "ANSWER_SECONDS_MAX",
    "CONNECT_SECONDS_MAX",
    "DEFAULT_BOOTSTRAP",
    "PARTITION_EOF",
    "Admin",
    "Bootstrap",
    "Cluster",
    "ConfigFile",
    "Message",
    "check_login",
    "error_of",
    "make_admin",
    "make_consumer",
    "make_share_consumer",
    "make_producer",
    "phrase",
    "reach",
    "refusal",
]

# How long to wait for a response before the error callback gets a turn.
_PATIENCE_SECONDS = 0.2
# The same for a login, which takes a few round trips.
_LOGIN_SECONDS = 1.0

# confluent-kafka's annotations make every field of a message optional, also those that are always
# set.
Message: TypeAlias = Any
# librdkafka's own errors begin with an underscore, which does not make them private.
PARTITION_EOF = KafkaError._PARTITION_EOF  # noqa: SLF001
_REFUSED_LOGIN = frozenset({KafkaError._AUTHENTICATION, KafkaError._SSL})  # noqa: SLF001
_UNANSWERED = frozenset({KafkaError._TIMED_OUT, KafkaError._TRANSPORT})  # noqa: SLF001

_OF_OUR_LOGINS = (BY_TOKEN, "security.protocol", "sasl.mechanism", "sasl.mechanisms")

_silence = logging.getLogger("barnabas.librdkafka")
_silence.addHandler(logging.NullHandler())
_silence.propagate = False


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
        return refusal(self.cluster, exception, doing, self.complaints)

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


def make_admin(cluster: Cluster) -> Admin:
    complaints: list[KafkaError] = []
    client = _make(AdminClient, _settings(cluster, {"error_cb": complaints.append}))
    return Admin(cluster, client, complaints)


def check_login(cluster: Cluster) -> None:
    """Raises ``Refused`` when the broker refuses the login or the certificates. librdkafka would
    try again for as long as a request may take, because it takes no refusal for final."""
    if may_ask(cluster.properties):
        _check_names(cluster)
        # A request of our own gets the refusal itself. librdkafka connects again and again when the
        # broker closes a connection, as it does when it misses a certificate or a login.
        request = DescribeClusterRequest(include_cluster_authorized_operations=False)
        ask(cluster.reachable, cluster.properties, request, seconds_max=ANSWER_SECONDS_MAX)
        return
    admin = make_admin(cluster)
    deadline = time.monotonic() + ANSWER_SECONDS_MAX
    while True:
        try:
            admin.client.list_topics(timeout=_LOGIN_SECONDS)
        except KafkaException as error:
            admin.client.poll(0)
            for complaint in admin.complaints:
                if complaint.code() in _REFUSED_LOGIN:
                    raise Refused(f"{cluster.reachable} refuses this client: {_without_place(phrase(complaint))}.") from error
            if error_of(error).code() not in _UNANSWERED or time.monotonic() > deadline:
                raise admin.refusal(error, "Cannot connect") from error
        else:
            return


def _check_names(cluster: Cluster) -> None:
    """A misspelt property is an error for every command, also for one with a login that librdkafka
    does not have."""
    properties = cluster.properties
    has_login = properties.get("security.protocol", "").lower().startswith("sasl_")
    if not has_login or not (is_by_token(properties) or mechanism_of(properties) == GSSAPI):
        make_admin(cluster)
        return
    known = {name: value for name, value in properties.items() if name not in _OF_OUR_LOGINS}
    settings = _settings(replace(cluster, properties=known), {})
    # Without an address the client does not connect.
    del settings["bootstrap.servers"]
    _make(AdminClient, settings)


def make_producer(cluster: Cluster, settings: Mapping[str, Any]) -> Producer:
    # librdkafka's default partitioner assigns keys to other partitions than Java's producers do.
    made: Producer = _make(Producer, {"partitioner": "murmur2_random", **_settings(cluster, settings)})
    return made


def make_consumer(cluster: Cluster, settings: Mapping[str, Any]) -> Consumer:
    own = {"group.id": "barnabas-cli", "enable.auto.commit": False, "enable.auto.offset.store": False}
    made: Consumer = _make(Consumer, _settings(cluster, {**own, **settings}))
    return made


def make_share_consumer(cluster: Cluster, settings: Mapping[str, Any]) -> ShareConsumer:
    made: ShareConsumer = _make(ShareConsumer, _settings(cluster, settings))
    return made


def refusal(cluster: Cluster, exception: KafkaException, doing: str, complaints: Sequence[KafkaError] = ()) -> Refused:
    """``doing`` begins the sentence: "Cannot create topic t"."""
    error = error_of(exception)
    if error.code() in _UNANSWERED:
        last = f", and {phrase(complaints[-1])}" if complaints else ""
        return Refused(f"{doing}: no answer from {cluster.bootstrap} within {ANSWER_SECONDS_MAX:g} seconds{last}.")
    return Refused(f"{doing}: {phrase(error)}.")


def _settings(cluster: Cluster, more: Mapping[str, Any]) -> dict[str, Any]:
    try:
        own = for_librdkafka_client(cluster.properties)
    except SettingsRefused as refused:
        raise Refused(str(refused)) from refused
    return {**own, "bootstrap.servers": cluster.bootstrap, "logger": _silence, **more}


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


def _without_place(text: str) -> str:
    """librdkafka writes the broker before its error, and the state of the connection after it."""
    return re.sub(r"^\w+://\S+: ", "", re.sub(r" \(after \d+ms in state .*\)$", "", text))


def _make(client: Any, settings: dict[str, Any]) -> Any:
    try:
        return client(settings)
    except KafkaException as error:
        raise Refused(f"The client cannot be configured: {phrase(error_of(error))}.") from error
    except (TypeError, ValueError) as error:
        raise Refused(f"The client cannot be configured: {error}.") from error
