"""A format whose schemas a registry has, as it is declared.

    format: {avro: {registry: http://127.0.0.1:8081, use: latest}}
    format: {protobuf: {subject: payments, schema_file: payment.proto}}

The registry of the pipeline stands in where a format has none of its own.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from barnabas.pipelines.declaration.located import Located, plain
from barnabas.schemas.schema import SchemaType

if TYPE_CHECKING:
    from barnabas.pipelines.declaration.fields import Fields

STRATEGIES: Final = ("topic", "record", "topic_record")
LATEST: Final = "latest"
# A registry that restarts or elects a leader answers again within this.
DEFAULT_RETRY_MS: Final = 60_000
# Fields of Avro that mean nothing without a registry.
ONLY_WITH_REGISTRY: Final = ("subject", "strategy", "use", "register", "record")
# Where a file of a schema may be longer, the registry refuses it.
FILE_CHARACTERS_MAX: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class RegistryAddress:
    url: str
    # They may hold passwords.
    login: str | None = field(default=None, repr=False)  # name:password
    token: str | None = field(default=None, repr=False)
    tls_trusted: str | None = None  # the file of the authorities
    tls_certificate: str | None = None
    tls_key: str | None = None
    retry_ms: int = DEFAULT_RETRY_MS  # how long a task asks a registry that does not answer


@dataclass(frozen=True, slots=True)
class RegisteredSettings:
    type: SchemaType
    registry: RegistryAddress | None  # None: that of the pipeline
    subject: str | None  # None: by the strategy
    strategy: str
    # Latest, or the number of a version; None: the schema below or, without one, latest for a
    # source and a schema of the columns for a sink.
    use: str | None
    schema: str | None
    register: bool
    record: str | None  # the full name of the record or message


def declare_registered(fields: Fields, type_: SchemaType, *, schema: str | None = None, reads_schema: bool = True) -> RegisteredSettings:
    """Not ``reads_schema``: the caller has read the fields of the schema, which is ``schema``."""
    settings = RegisteredSettings(
        type=type_,
        registry=declare_registry(fields),
        subject=fields.optional_text("subject"),
        strategy=fields.choice("strategy", STRATEGIES, default="topic"),
        use=_declare_use(fields),
        schema=_declare_schema(fields, type_) if reads_schema else schema,
        register=fields.flag("register", default=True),
        record=fields.optional_text("record"),
    )
    if settings.use is not None and settings.schema is not None:
        fields.report(f"{fields.what} has both 'use' and a schema of its own; the schema is one or the other.", "use")
    if settings.use is not None and settings.register and "register" in fields:
        fields.report(f"{fields.what} uses a registered schema, so there is nothing to register.", "register")
    return settings


def declare_registry(fields: Fields) -> RegistryAddress | None:
    """The field ``registry``: an address, or a mapping."""
    found = fields.located("registry")
    if found is None:
        return None
    if not isinstance(found.value, dict):
        url = fields.text("registry")
        _check_url(url, fields, "registry")
        return RegistryAddress(url)
    own = fields.nested("registry")
    address = RegistryAddress(
        url=own.text("url"),
        login=own.optional_text("login"),
        token=own.optional_text("token"),
        tls_trusted=own.optional_text("tls_trusted"),
        tls_certificate=own.optional_text("tls_certificate"),
        tls_key=own.optional_text("tls_key"),
        retry_ms=own.duration_ms("retry", default=DEFAULT_RETRY_MS),
    )
    _check_url(address.url, own, "url")
    if address.login is not None and ":" not in address.login:
        own.report(f"'login' of {own.what} is a name and a password, as in name:password.", "login")
    if address.login is not None and address.token is not None:
        own.report(f"{own.what} has both 'login' and 'token'; a request carries one of them.", "token")
    if (address.tls_certificate is None) != (address.tls_key is None):
        own.report(f"{own.what} needs 'tls_certificate' and 'tls_key' together.")
    own.end()
    return address


def _check_url(url: str, fields: Fields, name: str) -> None:
    # An empty one is reported already.
    if url and not url.startswith(("http://", "https://")):
        fields.report(f"{name!r} of {fields.what} is an address such as http://127.0.0.1:8081, not {url!r}.", name)


def _declare_use(fields: Fields) -> str | None:
    use = fields.optional_text("use")
    if use is not None and use != LATEST and not (use.isdecimal() and int(use) > 0):
        fields.report(f"'use' of {fields.what} is 'latest' or the number of a version, not {use!r}.", "use")
        return None
    return use


def _declare_schema(fields: Fields, type_: SchemaType) -> str | None:
    found, path = fields.located("schema"), fields.optional_text("schema_file")
    if found is not None and path is not None:
        fields.report(f"{fields.what} has both 'schema' and 'schema_file'.", "schema_file")
        return None
    name, text = "schema", None
    if path is not None:
        name = "schema_file"
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read(FILE_CHARACTERS_MAX + 1)
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            fields.report(f"the schema of {fields.what} cannot be read: {path}: {why}.", name)
    elif found is not None:
        text = _inline(found)
    if text is not None and (why_not := invalid(text, type_)) is not None:
        fields.report(f"the schema of {fields.what} is not valid: {why_not.rstrip('.')}.", name)
        return None
    return text


def _inline(found: Located) -> str:
    """JSON and Avro may be written in YAML; Protobuf is a text."""
    return found.value if isinstance(found.value, str) else json.dumps(plain(found), default=repr)


def invalid(text: str, type_: SchemaType) -> str | None:
    """Why the text is no schema of the type, or None."""
    from barnabas.schemas.errors import InvalidSchema
    from barnabas.schemas.parsing import parse_schema

    try:
        parse_schema(type_, text)
    except InvalidSchema as error:
        return str(error)
    except ModuleNotFoundError as missing:
        return f"{missing.name} is not installed: pip install 'barnabas[registry]'"
    return None
