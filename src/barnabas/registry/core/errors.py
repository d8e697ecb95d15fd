"""The errors of a registry: a status of HTTP, a code that clients compare, and a sentence.

The codes and the beginnings of the sentences are Confluent's: clients act on codes, and people
search for sentences.
"""

from __future__ import annotations

from typing import Final

INVALID_SCHEMA: Final = 42201


class RegistryError(Exception):
    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    @property
    def status(self) -> int:
        """The first three digits of a long code are the status; a short code is one itself."""
        return self.code // 100 if self.code >= 1000 else self.code


class NothingWritten(RegistryError):
    """The brokers refused the records before they took any, so the state is still complete."""


def subject_not_found(subject: str) -> RegistryError:
    return RegistryError(40401, f"Subject '{subject}' not found.")


def version_not_found(version: int) -> RegistryError:
    return RegistryError(40402, f"Version {version} not found.")


def schema_not_found(name: int | str | None = None) -> RegistryError:
    return RegistryError(40403, "Schema not found" if name is None else f"Schema {name} not found")


def subject_soft_deleted(subject: str) -> RegistryError:
    return RegistryError(40404, f"Subject '{subject}' was soft deleted.Set permanent=true to delete permanently")


def subject_not_soft_deleted(subject: str) -> RegistryError:
    return RegistryError(40405, f"Subject '{subject}' was not deleted first before being permanently deleted")


def version_soft_deleted(subject: str, version: int) -> RegistryError:
    return RegistryError(40406, f"Subject '{subject}' Version {version} was soft deleted.Set permanent=true to delete permanently")


def version_not_soft_deleted(subject: str, version: int) -> RegistryError:
    return RegistryError(40407, f"Subject '{subject}' Version {version} was not deleted first before being permanently deleted")


def config_not_found(subject: str) -> RegistryError:
    return RegistryError(40408, f"Subject '{subject}' does not have subject-level compatibility configured")


def mode_not_found(subject: str) -> RegistryError:
    return RegistryError(40409, f"Subject '{subject}' does not have subject-level mode configured")


def incompatible(message: str) -> RegistryError:
    return RegistryError(40901, message)


def invalid_schema(message: str) -> RegistryError:
    return RegistryError(INVALID_SCHEMA, message)


def invalid_version(version: str) -> RegistryError:
    return RegistryError(
        42202,
        f"The specified version '{version}' is not a valid version id. Allowed values are between [1, 2^31-1] and the string \"latest\"",
    )


def invalid_level() -> RegistryError:
    return RegistryError(
        42203,
        "Invalid compatibility level. Valid values are none, backward, forward, full, "
        "backward_transitive, forward_transitive, and full_transitive",
    )


def invalid_mode(mode: str) -> RegistryError:
    return RegistryError(42204, f"Invalid mode. Valid values are READWRITE, READONLY, IMPORT and FORWARD; not {mode}.")


def forward_mode_is_global() -> RegistryError:
    return RegistryError(42204, "Forward mode only supported on global level")


def not_permitted(message: str) -> RegistryError:
    return RegistryError(42205, message)


def reference_exists(subject: str, version: int) -> RegistryError:
    return RegistryError(
        42206, f"One or more references exist to the schema {{magic=1,keytype=SCHEMA,subject={subject},version={version}}}."
    )


def invalid_subject(subject: str) -> RegistryError:
    return RegistryError(42208, f"The specified subject '{subject}' is not a valid.")


def schema_too_large(message: str) -> RegistryError:
    return NothingWritten(42209, message)


def invalid_rule_set(message: str) -> RegistryError:
    return RegistryError(42210, message)


def context_not_empty(context: str) -> RegistryError:
    return RegistryError(42211, f"The specified context '{context}' is not empty.")


def unprocessable(message: str) -> RegistryError:
    return RegistryError(422, message)


def store_failed(message: str) -> RegistryError:
    return RegistryError(50001, message)


def timed_out(message: str) -> RegistryError:
    return RegistryError(50002, message)


def forwarding_failed(message: str) -> RegistryError:
    return RegistryError(50003, message)


def no_leader() -> RegistryError:
    return RegistryError(50004, "Leader not known.")
