"""What a registry can be asked.

What never changes is remembered: a schema by its id, by its GUID, or by its version. The latest
version of a subject is remembered for the time that the settings say. A schema that does not exist
is asked for again, because it may be registered a moment later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Self
from uuid import UUID

from barnabas.registry_client.cache import Cache
from barnabas.registry_client.errors import NotFound, RegistryRefused
from barnabas.registry_client.registered import RegisteredSchema, answers_in_shape, references_of, registered_of
from barnabas.registry_client.requests import Requests, escaped
from barnabas.registry_client.settings import RegistrySettings
from barnabas.schemas.limits import DEPTH_MAX
from barnabas.schemas.schema import Reference, ResolvedReference, SchemaType

# Schemas that one schema may refer to, those of its references included; as in the registry.
REFERENCES_MAX: Final = 500


class RegistryClient:
    """Every method raises a :class:`~barnabas.registry_client.errors.RegistryError`."""

    def __init__(self, settings: RegistrySettings | Mapping[str, object] | str) -> None:
        """``settings``: an address, or the settings of a client."""
        if isinstance(settings, str):
            settings = RegistrySettings.of_url(settings)
        elif not isinstance(settings, RegistrySettings):
            settings = RegistrySettings.of(settings)
        self.settings = settings
        self._requests = Requests(settings)
        self._schemas: Cache[RegisteredSchema] = Cache(settings.cache_entries)
        self._latest: Cache[RegisteredSchema] = Cache(settings.cache_entries, settings.latest_seconds)
        self._texts: Cache[tuple[str, tuple[Reference, ...]]] = Cache(settings.cache_entries)
        self._names: Cache[tuple[str, ...]] = Cache(settings.cache_entries, settings.latest_seconds)

    def __reduce__(self) -> tuple[type[RegistryClient], tuple[RegistrySettings]]:
        """Another process gets a client of its own: programs of Spark send theirs to workers."""
        return RegistryClient, (self.settings,)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        self._requests.close()

    def ask(self, method: str, path: str, body: Any = None, *, query: dict[str, str] | None = None) -> Any:
        """Any other request; the answer is not remembered."""
        return self._requests.ask(method, path, body, query=query)

    # -- schemas -----------------------------------------------------------------------------------

    def schema_by_id(self, schema_id: int, subject: str | None = None) -> RegisteredSchema:
        """``subject`` gives the context of the id, and the subject of the answer."""

        def fetch() -> RegisteredSchema:
            query = {"subject": subject} if subject is not None else None
            answer = self.ask("GET", f"/schemas/ids/{schema_id}", query=query)
            return self._with_references(answer, subject, id=schema_id, subject=subject)

        return self._schemas.get_or(("id", schema_id, subject), fetch)

    def schema_by_guid(self, guid: UUID) -> RegisteredSchema:
        def fetch() -> RegisteredSchema:
            answer = self.ask("GET", f"/schemas/guids/{guid}")
            return self._with_references(answer, None, guid=guid)

        return self._schemas.get_or(("guid", guid), fetch)

    def version(self, subject: str, version: int) -> RegisteredSchema:
        return self._schemas.get_or(("version", subject, version), lambda: self._version(subject, str(version)))

    def latest(self, subject: str) -> RegisteredSchema:
        return self._latest.get_or(subject, lambda: self._version(subject, "latest"))

    def latest_with_metadata(self, subject: str, metadata: Mapping[str, str]) -> RegisteredSchema:
        """The latest version whose metadata has these properties."""

        def fetch() -> RegisteredSchema:
            query = "&".join(f"key={escaped(key)}&value={escaped(value)}" for key, value in metadata.items())
            return self._with_references(self.ask("GET", f"/subjects/{escaped(subject)}/metadata?{query}"), subject, subject=subject)

        return self._latest.get_or((subject, tuple(sorted(metadata.items()))), fetch)

    def versions(self, subject: str) -> list[int]:
        with answers_in_shape():
            return list(self.ask("GET", f"/subjects/{escaped(subject)}/versions"))

    def subjects(self, prefix: str | None = None) -> list[str]:
        with answers_in_shape():
            return list(self.ask("GET", "/subjects", query={"subjectPrefix": prefix} if prefix is not None else None))

    def subjects_of_id(self, schema_id: int) -> tuple[str, ...]:
        """The subjects that have a version with this id."""

        def fetch() -> tuple[str, ...]:
            found = self.ask("GET", f"/schemas/ids/{schema_id}/versions")
            with answers_in_shape():
                return tuple(dict.fromkeys(str(each["subject"]) for each in found))

        return self._names.get_or(("subjects", schema_id), fetch)

    def register(
        self, subject: str, type_: SchemaType, text: str, references: Sequence[Reference] = (), *, normalize: bool = False
    ) -> RegisteredSchema:
        """Register a schema; the same one again gives what is registered already."""

        def send() -> RegisteredSchema:
            body = _body(type_, text, references)
            answer = self.ask("POST", f"/subjects/{escaped(subject)}/versions", body, query=_normalize(normalize))
            # Older registries answer with the id alone.
            with answers_in_shape():
                whole = {**body, **answer}
            return self._with_references(whole, subject, subject=subject)

        return self._schemas.get_or(("register", subject, type_, text, tuple(references), normalize), send)

    def lookup(
        self, subject: str, type_: SchemaType, text: str, references: Sequence[Reference] = (), *, normalize: bool = False
    ) -> RegisteredSchema:
        """The version of a subject that has this schema. Raises :class:`NotFound` if none has."""

        def fetch() -> RegisteredSchema:
            body = _body(type_, text, references)
            answer = self.ask("POST", f"/subjects/{escaped(subject)}", body, query=_normalize(normalize))
            return self._with_references(answer, subject, subject=subject)

        return self._schemas.get_or(("lookup", subject, type_, text, tuple(references), normalize), fetch)

    def resolve(self, references: Sequence[Reference], parent: str | None = None) -> list[ResolvedReference]:
        """The texts behind references and behind theirs, in the order that a parser needs.
        ``parent`` is the subject that has the references."""
        found: dict[str, str] = {}
        self._collect(references, parent, found, on_the_way=())
        return [ResolvedReference(name, text) for name, text in found.items()]

    # -- settings of subjects ----------------------------------------------------------------------

    def incompatibilities(
        self, subject: str, type_: SchemaType, text: str, references: Sequence[Reference] = (), *, version: int | None = None
    ) -> list[str]:
        """Why a schema may not be registered; empty if it may. ``version``: compare with this one
        only, and not with those that the level of the subject names."""
        path = f"/compatibility/subjects/{escaped(subject)}/versions" + (f"/{version}" if version is not None else "")
        answer = self.ask("POST", path, _body(type_, text, references), query={"verbose": "true"})
        with answers_in_shape():
            return [] if answer["is_compatible"] else list(answer.get("messages") or ["The registry gives no reason."])

    def config(self, subject: str | None = None) -> dict[str, Any]:
        """The settings of a subject, or the global ones that it inherits; all of them if None."""
        with answers_in_shape():
            return dict(self.ask("GET", _of("/config", subject), query=_inherited(subject)))

    def set_config(self, config: Mapping[str, Any], subject: str | None = None) -> None:
        self.ask("PUT", _of("/config", subject), dict(config))

    def compatibility(self, subject: str | None = None) -> str:
        """The level, such as BACKWARD."""
        with answers_in_shape():
            return str(self.config(subject)["compatibilityLevel"])

    def set_compatibility(self, level: str, subject: str | None = None) -> None:
        self.set_config({"compatibility": level}, subject)

    def mode(self, subject: str | None = None) -> str:
        with answers_in_shape():
            return str(self.ask("GET", _of("/mode", subject), query=_inherited(subject))["mode"])

    def set_mode(self, mode: str, subject: str | None = None, *, force: bool = False) -> None:
        self.ask("PUT", _of("/mode", subject), {"mode": mode}, query={"force": "true"} if force else None)

    def associated_subject(self, topic: str, *, is_key: bool, namespace: str = "-") -> str | None:
        """The subject that the registry associates with a topic; None if it associates none.
        ``namespace`` is the id of the Kafka cluster, or ``-`` for any."""
        kind = "key" if is_key else "value"

        def fetch() -> tuple[str, ...]:
            path = f"/associations/resources/{escaped(namespace)}/{escaped(topic)}"
            try:
                found = self.ask("GET", path, query={"resourceType": "topic", "associationType": kind})
            except NotFound:
                return ()  # Also the answer of registries without associations.
            with answers_in_shape():
                return tuple(str(each["subject"]) for each in found)

        found = self._names.get_or(("associated", namespace, topic, kind), fetch)
        if len(found) > 1:
            raise RegistryRefused(f"The registry associates {len(found)} subjects with {topic}.", status=200, code=200)
        return found[0] if found else None

    # -- how answers become schemas ----------------------------------------------------------------

    def _version(self, subject: str, version: str) -> RegisteredSchema:
        answer = self.ask("GET", f"/subjects/{escaped(subject)}/versions/{version}")
        return self._with_references(answer, subject, subject=subject)

    def _with_references(self, answer: Any, parent: str | None, **known: Any) -> RegisteredSchema:
        return registered_of(answer, self.resolve(references_of(answer), parent), **known)

    def _collect(self, references: Sequence[Reference], parent: str | None, found: dict[str, str], on_the_way: tuple[str, ...]) -> None:
        """The referenced texts, each after those that it uses itself."""
        for reference in references:
            if reference.name in found:
                continue
            if reference.name in on_the_way:
                raise RegistryRefused(f"The reference {reference.name!r} leads back to itself.", status=200, code=42201)
            if len(found) >= REFERENCES_MAX or len(on_the_way) >= DEPTH_MAX:
                raise RegistryRefused(f"The schema refers to more than {REFERENCES_MAX} others.", status=200, code=42201)
            subject = _within_context(reference.subject, parent)
            text, inner = self._text(subject, reference.version)
            self._collect(inner, subject, found, (*on_the_way, reference.name))
            found[reference.name] = text

    def _text(self, subject: str, version: int) -> tuple[str, tuple[Reference, ...]]:
        def fetch() -> tuple[str, tuple[Reference, ...]]:
            # The version may be deleted by now; data that needs it still exists.
            answer = self.ask("GET", f"/subjects/{escaped(subject)}/versions/{version}", query={"deleted": "true"})
            with answers_in_shape():
                return str(answer["schema"]), references_of(answer)

        return self._texts.get_or((subject, version), fetch)


def _within_context(subject: str, parent: str | None) -> str:
    """A reference is of the context of the schema that has it, unless it names another."""
    if parent is None or subject.startswith(":.") or not parent.startswith(":."):
        return subject
    context = parent[: parent.index(":", 2) + 1] if ":" in parent[2:] else ""
    return context + subject


def _body(type_: SchemaType, text: str, references: Sequence[Reference]) -> dict[str, Any]:
    return {"schema": text, "schemaType": type_.value, "references": [each._asdict() for each in references]}


def _normalize(normalize: bool) -> dict[str, str] | None:
    return {"normalize": "true"} if normalize else None


def _of(path: str, subject: str | None) -> str:
    return f"{path}/{escaped(subject)}" if subject is not None else path


def _inherited(subject: str | None) -> dict[str, str] | None:
    return {"defaultToGlobal": "true"} if subject is not None else None
