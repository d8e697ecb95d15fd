"""A cluster as a command reaches it: its addresses and the properties of its clients.

:func:`reach` merges the options, files and profiles that name a cluster (:mod:`~.choice`), and
probes its addresses in turn. librdkafka itself waits for a broker that may yet come up, while a
user at a terminal wants to know at once that no broker listens, and why.

librdkafka is loaded only by :meth:`Cluster.admin`, :meth:`Cluster.producer` and the consumers of
:class:`Cluster`: it takes as long as all else that a short command does.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from barnabas.cli.cluster.choice import Choice, Sources, choose
from barnabas.cli.cluster.options import DEFAULT_BOOTSTRAP, SECURE_CLIENT_FILE, GivenOptions, given
from barnabas.cli.cluster.probe import CONNECT_SECONDS_MAX, NotABroker, probe
from barnabas.cli.errors import Refused
from barnabas.cli.profiles.profile_file import ProfileFile
from barnabas.cli.terminal.overrides import parse_pairs
from barnabas.client_settings.client_file import read_client_file
from barnabas.client_settings.errors import SettingsRefused
from barnabas.client_settings.fetched_values import with_fetched_values
from barnabas.client_settings.java_names import for_librdkafka, ignored_sentence
from barnabas.config.addresses import host_and_port

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaException, Producer, ShareConsumer

    from barnabas.cli.cluster.client import Admin

# The longest a request may take. The slowest requests wait for a new leader after a broker was
# killed, and the session of that broker alone takes nine seconds to expire.
ANSWER_SECONDS_MAX = 30.0
# Confluent's names for the settings of a registry among those of a Kafka client.
_OF_REGISTRY = ("schema.registry.", "basic.auth.", "bearer.auth.")


@dataclass(frozen=True, slots=True)
class Cluster:
    """The addresses of a cluster and the properties for its clients. Clients are made from it, each
    with settings of its own."""

    bootstrap: str
    reachable: str  # the first bootstrap address at which a broker answered
    # With librdkafka's names. They may hold passwords, which must not appear in a traceback.
    properties: Mapping[str, str] = field(repr=False)
    # Of the schema registry, which librdkafka does not know.
    registry: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def addresses(self) -> list[str]:
        """All bootstrap addresses, the one that answered first."""
        return list(dict.fromkeys([self.reachable, *(each.strip() for each in self.bootstrap.split(","))]))

    def admin(self) -> Admin:
        from barnabas.cli.cluster.client import make_admin

        return make_admin(self)

    def producer(self, settings: Mapping[str, Any]) -> Producer:
        from barnabas.cli.cluster.client import make_producer

        return make_producer(self, settings)

    def consumer(self, settings: Mapping[str, Any]) -> Consumer:
        """A consumer with assigned partitions: it joins no group and commits nothing, although
        librdkafka requires a group id. ``settings`` may name a group instead."""
        from barnabas.cli.cluster.client import make_consumer

        return make_consumer(self, settings)

    def share_consumer(self, settings: Mapping[str, Any]) -> ShareConsumer:
        """A member of the share group that ``settings`` name."""
        from barnabas.cli.cluster.client import make_share_consumer

        return make_share_consumer(self, settings)

    def refusal(self, exception: KafkaException, doing: str) -> Refused:
        """``doing`` begins the sentence: "Cannot create topic t"."""
        from barnabas.cli.cluster.client import refusal

        return refusal(self, exception, doing)


def reach(bootstrap: str | None, config_file: Path | None) -> Cluster:
    """The cluster that the options name. Raises ``Refused`` when no broker answers there."""
    choice, ignored = chosen(bootstrap, config_file, given.get())
    if ignored:
        typer.echo(f"barnabas: {ignored_sentence(ignored)}", err=True)
    addresses = choice.addresses or DEFAULT_BOOTSTRAP
    registry = {name: value for name, value in choice.properties.items() if name.startswith(_OF_REGISTRY)}
    properties = {name: value for name, value in choice.properties.items() if name not in registry}
    if registry:
        # SASL_INHERIT means the login of the brokers.
        registry |= {name: properties[name] for name in ("sasl.username", "sasl.password") if name in properties}
    cluster = Cluster(addresses, _first_reachable(addresses, _uses_tls(properties)), properties, registry)
    if properties:
        # Requests of our own need no librdkafka, but a misspelt property is an error for every
        # command.
        _check_client(cluster)
    return cluster


def _check_client(cluster: Cluster) -> None:
    from barnabas.cli.cluster.client import check_login

    if cluster.properties.get("security.protocol", "plaintext").lower() == "plaintext":
        cluster.admin()
    else:
        check_login(cluster)


def chosen(bootstrap: str | None, config_file: Path | None, options: GivenOptions) -> tuple[Choice, list[str]]:
    """The choice, and the names of Java properties that have no effect. Nothing is connected."""
    ignored: list[str] = []

    def translated(properties: Mapping[str, str]) -> dict[str, str]:
        try:
            # A profile keeps the references, and not the secrets that they stand for.
            made = for_librdkafka(with_fetched_values(properties))
        except SettingsRefused as refused:
            raise Refused(str(refused)) from refused
        ignored.extend(made.ignored)
        return made.properties

    if options.secure:
        config_file = secure_file(config_file)
    named = translated(ProfileFile.read().get(options.profile)) if options.profile is not None else {}
    sources = Sources(
        typed_bootstrap=None if options.bootstrap_is_ambient else bootstrap,
        ambient_bootstrap=bootstrap if options.bootstrap_is_ambient else None,
        typed_properties=translated(dict(parse_pairs("-X", options.properties))),
        config_file=translated(read_config_file(config_file)) if config_file is not None else {},
        typed_profile={} if options.profile_is_ambient else named,
        ambient_profile=named if options.profile_is_ambient else {},
    )
    choice = choose(sources)
    if choice.addresses is None and options.profile is None:
        # Only now is the file read: a damaged one must not stop a command that does not need it.
        choice = choose(replace(sources, used_profile=translated(ProfileFile.read().used_properties)))
    return choice, list(dict.fromkeys(ignored))


def read_config_file(path: Path) -> dict[str, str]:
    try:
        return read_client_file(path)
    except SettingsRefused as refused:
        raise Refused(str(refused)) from refused


def secure_file(config_file: Path | None) -> Path:
    """The file that ``--secure`` stands for. Raises ``Refused`` when ``config_file`` names another,
    or when it is missing."""
    if config_file is not None:
        raise Refused("--secure names a file of properties itself, so --config-file cannot be given with it.")
    if not SECURE_CLIENT_FILE.exists():
        raise Refused(
            f"--secure reads {SECURE_CLIENT_FILE}, and there is no such file: start a cluster here with `barnabas up --secure`, "
            "or name its file with --command-config."
        )
    return SECURE_CLIENT_FILE


def check_addresses(bootstrap: str) -> list[tuple[str, tuple[str, int]]]:
    """Each address as text, and as host and port."""
    checked = []
    for text in (each.strip() for each in bootstrap.split(",")):
        protocol = text.partition("://")[0].lower() if "://" in text else ""
        if protocol in ("http", "https"):
            raise Refused(f"{text} is the address of a web server: --bootstrap takes a broker's host:port, without {protocol}://.")
        place = host_and_port(text)
        if place is None or not place[0]:
            raise Refused(f"--bootstrap takes host:port, several separated by commas, but was given {bootstrap!r}.")
        checked.append((text, place))
    return checked


def _first_reachable(bootstrap: str, tls: bool) -> str:
    reasons, others = [], []
    for text, place in check_addresses(bootstrap):
        try:
            probe(place, tls=tls)
        except NotABroker as error:
            others.append(f"{text} {error}")
        except OSError as error:
            reasons.append(f"{text} ({_reason(error)})")
        else:
            return text
    if reasons:
        others.append(f"{'no' if others else 'No'} broker can be reached at {', '.join(reasons)}")
    raise Refused("; ".join(others) + ".")


def _uses_tls(properties: Mapping[str, str]) -> bool:
    return properties.get("security.protocol", "").lower() in ("ssl", "sasl_ssl")


def _reason(error: OSError) -> str:
    if isinstance(error, TimeoutError):
        return f"no connection within {CONNECT_SECONDS_MAX:g} seconds"
    return (error.strerror or os.strerror(error.errno or 0)).lower()
