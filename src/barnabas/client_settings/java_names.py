"""Java's names of client properties, as librdkafka's.

Files for Java clients work here as they are. Three kinds of names differ:

- names that librdkafka calls otherwise, such as ``max.request.size``: they are renamed;
- names whose value has another form, such as ``sasl.jaas.config`` and the trust store: they are
  rewritten, or refused with a sentence when the value has no such form (a JKS file);
- names for which librdkafka has nothing: they are left out and named in one sentence. Those that
  decide how a client logs in are refused instead, because the connection would fail without them.

All other names pass unchanged: librdkafka shares them with Java, or they are its own, or it refuses
them itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from barnabas.client_settings.bearer_token import TOKEN_FILE
from barnabas.client_settings.delegation_token import BY_TOKEN
from barnabas.client_settings.errors import SettingsRefused
from barnabas.config.cipher_suites import is_of_tls_1_3, openssl_name

RENAMED: Final = {
    "buffer.memory": "queue.buffering.max.kbytes",
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "max.request.size": "message.max.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "sasl.oauthbearer.assertion.template.file": "sasl.oauthbearer.assertion.jwt.template.file",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
    "ssl.truststore.certificates": "ssl.ca.pem",
}
REWRITTEN: Final = frozenset(
    {
        "compression.gzip.level",
        "compression.lz4.level",
        "compression.zstd.level",
        "partition.assignment.strategy",
        "request.timeout.ms",
        "sasl.jaas.config",
        "sasl.oauthbearer.token.endpoint.url",
        "ssl.cipher.suites",
        "ssl.endpoint.identification.algorithm",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
    }
)
# librdkafka has two of these names, max.poll.records and share.acknowledgement.mode, for share
# consumers only. Every other client refuses them, and `consume --share` sets them itself.
IGNORED: Final = frozenset(
    {
        "auto.include.jmx.reporter",
        "bootstrap.controllers",
        "config.providers",
        "default.api.timeout.ms",
        "exclude.internal.topics",
        "interceptor.classes",
        "key.deserializer",
        "key.serializer",
        "max.block.ms",
        "max.poll.records",
        "metadata.max.idle.ms",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "partitioner.adaptive.partitioning.enable",
        "partitioner.availability.timeout.ms",
        "partitioner.class",
        "partitioner.ignore.keys",
        "sasl.kerberos.ticket.renew.jitter",
        "sasl.kerberos.ticket.renew.window.factor",
        "sasl.login.connect.timeout.ms",
        "sasl.login.read.timeout.ms",
        "sasl.login.refresh.buffer.seconds",
        "sasl.login.refresh.min.period.seconds",
        "sasl.login.refresh.window.factor",
        "sasl.login.refresh.window.jitter",
        "sasl.login.retry.backoff.max.ms",
        "sasl.login.retry.backoff.ms",
        "sasl.oauthbearer.clock.skew.seconds",
        "sasl.oauthbearer.expected.audience",
        "sasl.oauthbearer.expected.issuer",
        "sasl.oauthbearer.header.urlencode",
        "sasl.oauthbearer.jwks.endpoint.refresh.ms",
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
        "sasl.oauthbearer.jwks.endpoint.url",
        "sasl.oauthbearer.scope.claim.name",
        "share.acknowledgement.mode",
        "share.acquire.mode",
        "socket.connection.setup.timeout.max.ms",
        "ssl.enabled.protocols",
        "ssl.keymanager.algorithm",
        "ssl.protocol",
        "ssl.provider",
        "ssl.secure.random.implementation",
        "ssl.trustmanager.algorithm",
        "throw.on.fetch.stable.offset.unsupported",
        "transaction.two.phase.commit.enable",
        "value.deserializer",
        "value.serializer",
    }
)
IMPOSSIBLE: Final = frozenset(
    {
        "sasl.client.callback.handler.class",
        "sasl.login.callback.handler.class",
        "sasl.login.class",
        "sasl.oauthbearer.jwt.retriever.class",
        "sasl.oauthbearer.jwt.validator.class",
        "security.providers",
        "ssl.engine.factory.class",
    }
)
# Kafka's own classes for these settings get a token from an endpoint or from a file. librdkafka
# does that without a class.
_STANDARD_CLASSES: Final = {
    "sasl.login.callback.handler.class": ("OAuthBearerLoginCallbackHandler",),
    "sasl.oauthbearer.jwt.retriever.class": ("DefaultJwtRetriever", "FileJwtRetriever", "ClientCredentialsJwtRetriever"),
    "sasl.oauthbearer.jwt.validator.class": ("DefaultJwtValidator", "ClientJwtValidator", "BrokerJwtValidator"),
}
_ASSIGNORS: Final = {
    "RangeAssignor": "range",
    "RoundRobinAssignor": "roundrobin",
    "CooperativeStickyAssignor": "cooperative-sticky",
}
_PEM_SUFFIXES: Final = (".pem", ".crt", ".cer")
_PKCS12_SUFFIXES: Final = (".p12", ".pfx", ".pkcs12")
_BYTES_IN_KILOBYTE: Final = 1024
_CLASS: Final = re.compile(r"[A-Za-z_]\w*(?:[.$]\w+)+")
_JAAS_OPTION: Final = re.compile(r"""([A-Za-z][\w.]*)\s*=\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s;"']+)""")


class Translation(NamedTuple):
    properties: dict[str, str]
    ignored: list[str]  # Java's names that have no equivalent, in the order given


def for_librdkafka(given: Mapping[str, str]) -> Translation:
    """Raises ``SettingsRefused`` for a value that librdkafka has no form for."""
    made: dict[str, str] = {}
    ignored: list[str] = []
    for name, value in given.items():
        if name in IMPOSSIBLE:
            if value.rpartition(".")[2] in _STANDARD_CLASSES.get(name, ()):
                continue
            raise SettingsRefused(f"{name} names a Java class, and librdkafka has no equivalent, so this client cannot log in with it.")
        if name in IGNORED or name.startswith(("metrics.context.", "config.providers.")):
            ignored.append(name)
        elif name in REWRITTEN:
            made |= _rewritten(name, value, given)
            if name == "ssl.cipher.suites" and name not in made:
                ignored.append(name)
        else:
            made[RENAMED.get(name, name)] = _kilobytes(name, value) if name == "buffer.memory" else value
    # A name of librdkafka's beats one that a name of Java's was rewritten to.
    made |= {name: value for name, value in given.items() if name in made and name not in REWRITTEN}
    return Translation(made, ignored)


def ignored_sentence(names: list[str]) -> str:
    listed = ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else names[0]
    return f"{listed} {'have' if len(names) > 1 else 'has'} no effect here, because librdkafka has no equivalent."


def _rewritten(name: str, value: str, given: Mapping[str, str]) -> dict[str, str]:
    match name:
        case "sasl.jaas.config":
            return _login(value)
        case "sasl.oauthbearer.token.endpoint.url":
            if value.startswith("file:"):
                return {TOKEN_FILE: _path_of(value)}
            return {"sasl.oauthbearer.method": "oidc", name: value}
        case "ssl.cipher.suites":
            return _cipher_suites(name, value)
        case "ssl.endpoint.identification.algorithm":
            return {name: value or "none"}
        case "request.timeout.ms":
            # librdkafka has this name for the acknowledgement of records alone, and another one for
            # the requests that Java means.
            return {name: value, "socket.timeout.ms": value}
        case "compression.gzip.level" | "compression.lz4.level" | "compression.zstd.level":
            # Java has a level for each codec; librdkafka has one, for the codec in use.
            return {"compression.level": value} if name.split(".")[1] == given.get("compression.type") else {}
        case "partition.assignment.strategy":
            return {name: ",".join(_assignor(each.strip()) for each in value.split(","))}
        case "ssl.truststore.location":
            return _trust_store(value, given.get("ssl.truststore.type"))
        case "ssl.keystore.location":
            return _key_store(value, given.get("ssl.keystore.type"), given)
        case _:
            # The types and passwords of stores are read together with their locations.
            return {}


def _cipher_suites(name: str, value: str) -> dict[str, str]:
    """OpenSSL's names in OpenSSL's notation, which pass as they are, or Java's. librdkafka always
    offers all suites of TLS 1.3, so a list with no other suites has no effect."""
    suites = [each.strip() for each in value.split(",")]
    if not all(each.startswith("TLS_") for each in suites):
        return {name: value}
    found = {each: openssl_name(each) for each in suites}
    unknown = [each for each, translated in found.items() if translated is None]
    if unknown:
        raise SettingsRefused(f"{name} has {unknown[0]}, which is not the name of a cipher suite.")
    older = [str(translated) for each, translated in found.items() if not is_of_tls_1_3(each)]
    return {name: ":".join(older)} if older else {}


def _path_of(url: str) -> str:
    from urllib.parse import unquote, urlsplit

    return unquote(urlsplit(url).path)


def _trust_store(location: str, kind: str | None) -> dict[str, str]:
    if _store_kind(location, kind) == "PEM":
        return {"ssl.ca.location": location}
    raise SettingsRefused(
        f"librdkafka reads certificates from PEM files, but ssl.truststore.location is {location}: "
        "convert it with `keytool -exportcert -rfc` and name the result with ssl.ca.location."
    )


def _key_store(location: str, kind: str | None, given: Mapping[str, str]) -> dict[str, str]:
    password = given.get("ssl.keystore.password")
    match _store_kind(location, kind):
        case "PEM":
            return {"ssl.certificate.location": location, "ssl.key.location": location}
        case "PKCS12":
            return {"ssl.keystore.location": location} | ({"ssl.keystore.password": password} if password is not None else {})
        case _:
            raise SettingsRefused(
                f"librdkafka reads keys from PKCS12 and PEM files, but ssl.keystore.location is {location}: "
                "convert it with `keytool -importkeystore -deststoretype PKCS12`."
            )


def _store_kind(location: str, kind: str | None) -> str:
    """Java takes a store for JKS when no type is given; a suffix says more than that default."""
    if kind is not None:
        return kind.upper()
    suffix = location.lower()
    return "PEM" if suffix.endswith(_PEM_SUFFIXES) else "PKCS12" if suffix.endswith(_PKCS12_SUFFIXES) else "JKS"


def _login(jaas: str) -> dict[str, str]:
    module, rest = (*jaas.split(None, 1), "", "")[:2]
    options = {name: _unquoted(text) for name, text in _JAAS_OPTION.findall(rest)}
    wanted = {
        "PlainLoginModule": {"username": "sasl.username", "password": "sasl.password"},
        "ScramLoginModule": {"username": "sasl.username", "password": "sasl.password", "tokenauth": BY_TOKEN},
        "Krb5LoginModule": {
            "principal": "sasl.kerberos.principal",
            "keyTab": "sasl.kerberos.keytab",
            "serviceName": "sasl.kerberos.service.name",
        },
        "OAuthBearerLoginModule": {
            "clientId": "sasl.oauthbearer.client.id",
            "clientSecret": "sasl.oauthbearer.client.secret",
            "scope": "sasl.oauthbearer.scope",
        },
    }.get(module.rpartition(".")[2])
    if wanted is None:
        # Any other word may be a password that a mistake has put there.
        shown = module if _CLASS.fullmatch(module) else "of no name"
        raise SettingsRefused(f"sasl.jaas.config names the login module {shown}, and librdkafka has no equivalent.")
    return {ours: options[name] for name, ours in wanted.items() if name in options}


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text[:1] in ("'", '"') else text


def _assignor(name: str) -> str:
    simple = name.rpartition(".")[2]
    if "." in name and simple not in _ASSIGNORS:
        raise SettingsRefused(f"librdkafka has no assignor like {name}; it has range, roundrobin and cooperative-sticky.")
    return _ASSIGNORS.get(simple, name)


def _kilobytes(name: str, value: str) -> str:
    if not value.isdecimal():
        raise SettingsRefused(f"{name} takes a number of bytes, but was given {value!r}.")
    return str(max(1, int(value) // _BYTES_IN_KILOBYTE))
