"""Keeps the registry of the target in step with the source's.

===========  =======================================================================================
copy         every subject with its ids and versions, into the mode IMPORT of the target's registry:
             records stay as they are
translate    every subject of the default context, registered as any schema is: schemas get other
             ids, and each record is rewritten to carry them; the subjects of a renamed topic are
             renamed with it
===========  =======================================================================================

A schema is registered before a record carries its id, and the registry is looked at before each
batch is written. So every id that a batch copies exists on the target before the batch does.
Nothing is deleted on the target, except that a version that is deleted on the source when the
mirror meets it is deleted on the target too: its id must stay known, and it must not be the latest.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from enum import StrEnum
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from barnabas.pipelines.errors import RunFailed
from barnabas.pipelines.mirror.schema_ids import SchemaVersion, TopicIds, ids_of_topics, topic_of
from barnabas.pipelines.mirror.selection import TopicSelection
from barnabas.pipelines.registered.registry import persistent

if TYPE_CHECKING:
    from barnabas.registry_client import RegistryClient

# A registry that restarts or elects a leader answers again within this.
RETRY_SECONDS_MAX: Final = 60.0
# The most that Confluent's registry puts into an answer.
PAGE_VERSIONS: Final = 1000
_FIELDS: Final = ("schema", "schemaType", "references", "metadata", "ruleSet")
_NO_CHECK: Final = "NONE"


class SchemasMode(StrEnum):
    NONE = "none"
    COPY = "copy"
    TRANSLATE = "translate"


class MirroredSchemas:
    """Spark's thread and the one that synchronises both use this."""

    def __init__(self, source: RegistryClient, target: RegistryClient, selection: TopicSelection, mode: SchemasMode) -> None:
        self._source, self._target = source, target
        self._selection = selection
        self._mode = mode
        self._lock = threading.Lock()
        self._versions: list[SchemaVersion] = []
        # What the target has: subject, version and id there, by subject and version here.
        self._done: dict[tuple[str, int], tuple[str, int, int]] = {}
        self._prepared: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._source.close()
        self._target.close()

    def keep_in_step(self, topics: Collection[str]) -> dict[str, TopicIds]:
        """The ids to rewrite in the records of each mirrored topic; none when they are copied.
        Raises ``RunFailed``."""
        with self._lock:
            # A schema exists before another one can refer to it, so ids rise along references.
            self._versions = sorted(self._listed(self._source), key=lambda each: (each.id, each.subject, each.version))
            if self._mode is SchemasMode.COPY:
                if not self._done:
                    # After a restart the target has most of them.
                    self._done = {(each.subject, each.version): each[:3] for each in self._listed(self._target)}
                for version in self._versions:
                    self._copy(version)
                return {}
            return self._translate(topics)

    def _listed(self, client: RegistryClient) -> list[SchemaVersion]:
        """Deleted versions too. Registries answer with a page at a time."""
        found: list[SchemaVersion] = []
        while True:
            query = {"subjectPrefix": ":*:", "deleted": "true", "offset": str(len(found)), "limit": str(PAGE_VERSIONS)}
            page = self._ask(client, "GET", "/schemas", query=query)
            found += (_version(each) for each in page)
            if len(page) < PAGE_VERSIONS:
                return found

    # -- copy ----------------------------------------------------------------------------------

    def _copy(self, version: SchemaVersion) -> None:
        key = version.subject, version.version
        if self._done.get(key) == version[:3]:
            return
        self._import_mode(version.subject)
        path = f"/subjects/{_escaped(version.subject)}/versions"
        self._ask(self._target, "POST", path, {**version.body, "id": version.id, "version": version.version})
        if version.deleted:
            self._ask(self._target, "DELETE", f"{path}/{version.version}")
        self._done[key] = version.subject, version.version, version.id

    def _import_mode(self, subject: str) -> None:
        if subject in self._prepared:
            return
        from barnabas.registry_client import RegistryRefused

        if persistent(lambda: self._target.mode(subject), RETRY_SECONDS_MAX) != "IMPORT":
            try:
                persistent(lambda: self._target.set_mode("IMPORT", subject), RETRY_SECONDS_MAX)
            except RegistryRefused as refused:
                raise RunFailed(
                    f"The target's registry has versions of the subject {subject!r} that are not copies, so it cannot take those of the "
                    f"source with their ids: {refused}"
                ) from refused
        self._prepared.add(subject)

    # -- translate -----------------------------------------------------------------------------

    def _translate(self, topics: Collection[str]) -> dict[str, TopicIds]:
        wanted = [each for each in self._versions if each.in_default_context]
        by_key = {(each.subject, each.version): each for each in self._versions}
        registered = {self._registered(each, topics, by_key)[0] for each in wanted if (each.subject, each.version) not in self._done}
        for subject in registered:
            self._restore_level(subject)
        targets = {each.id: self._done[each.subject, each.version][2] for each in wanted}
        return ids_of_topics(topics, wanted, targets)

    def _registered(
        self, version: SchemaVersion, topics: Collection[str], by_key: Mapping[tuple[str, int], SchemaVersion]
    ) -> tuple[str, int, int]:
        """Its subject, version and id on the target."""
        key = version.subject, version.version
        if key not in self._done:
            subject = self._target_subject(version.subject, topics)
            references = []
            for each in version.references:
                there = self._registered(by_key[str(each["subject"]), int(each["version"])], topics, by_key)
                references.append({"name": each["name"], "subject": there[0], "version": there[1]})
            body = {**version.body, **({"references": references} if references else {})}
            found = self._looked_up(subject, body) or self._new_version(subject, body, version)
            self._done[key] = subject, int(found["version"]), int(found["id"])
        return self._done[key]

    def _looked_up(self, subject: str, body: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The version that has the schema already, deleted or not."""
        from barnabas.registry_client import NotFound

        def ask() -> Any:
            try:
                return self._target.ask("POST", f"/subjects/{_escaped(subject)}", dict(body), query={"deleted": "true"})
            except NotFound:
                return None

        found: Mapping[str, Any] | None = persistent(ask, RETRY_SECONDS_MAX)
        return found

    def _new_version(self, subject: str, body: Mapping[str, Any], version: SchemaVersion) -> Mapping[str, Any]:
        self._without_check(subject)
        path = f"/subjects/{_escaped(subject)}"
        answer: Mapping[str, Any] = self._ask(self._target, "POST", f"{path}/versions", dict(body))
        if "version" not in answer:
            # Older registries answer with the id alone.
            answer = self._ask(self._target, "POST", path, dict(body))
        if version.deleted:
            self._ask(self._target, "DELETE", f"{path}/versions/{answer['version']}")
        return answer

    def _target_subject(self, subject: str, topics: Collection[str]) -> str:
        topic = topic_of(subject, topics)
        return subject if topic is None else f"{self._selection.target_name(topic)}{subject[len(topic) :]}"

    def _without_check(self, subject: str) -> None:
        """The source may have changed its level between two versions: a new subject takes the whole
        history, and the level of the source after it."""
        if subject in self._prepared:
            return
        self._prepared.add(subject)
        from barnabas.registry_client import NotFound

        try:
            persistent(lambda: self._target.versions(subject), RETRY_SECONDS_MAX)
        except NotFound:
            persistent(lambda: self._target.set_compatibility(_NO_CHECK, subject), RETRY_SECONDS_MAX)

    def _restore_level(self, subject: str) -> None:
        own = next((source for (source, _), (target, _, _) in self._done.items() if target == subject), subject)
        level = persistent(lambda: self._source.compatibility(own), RETRY_SECONDS_MAX)
        if persistent(lambda: self._target.compatibility(subject), RETRY_SECONDS_MAX) == _NO_CHECK != level:
            persistent(lambda: self._target.set_compatibility(level, subject), RETRY_SECONDS_MAX)

    def _ask(self, client: RegistryClient, method: str, path: str, body: Any = None, *, query: dict[str, str] | None = None) -> Any:
        from barnabas.registry_client import RegistryRefused

        try:
            return persistent(lambda: client.ask(method, path, body, query=query), RETRY_SECONDS_MAX)
        except RegistryRefused as refused:
            which = "source" if client is self._source else "target"
            raise RunFailed(f"The registry of the {which} refuses {method} {path}: {refused}") from refused


def _version(listed: Mapping[str, Any]) -> SchemaVersion:
    body = {name: listed[name] for name in _FIELDS if listed.get(name)}
    return SchemaVersion(str(listed["subject"]), int(listed["version"]), int(listed["id"]), body, bool(listed.get("deleted")))


def _escaped(subject: str) -> str:
    from barnabas.registry_client.requests import escaped

    return escaped(subject)
