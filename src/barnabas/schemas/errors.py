"""The ways in which a schema from outside, or data of a schema, can be wrong.

::

    ValueError
    ├── InvalidSchema
    │   └── SchemaTooComplex
    ├── NotFramed
    └── DoesNotFit
        ├── DoesNotDecode
        └── DoesNotEncode
"""

from __future__ import annotations


class InvalidSchema(ValueError):
    """The text is no schema of its type. The sentence says where and why."""


class SchemaTooComplex(InvalidSchema):
    """A limit of :mod:`barnabas.schemas.limits` is reached."""


class OutOfSteps(SchemaTooComplex):
    """Work on a schema takes more steps than its caller allows."""


class NotFramed(ValueError):
    """Bytes of a record do not begin with the id of a schema. The sentence says why."""


class DoesNotFit(ValueError):
    """Data and a schema do not fit each other: at ``path``, for ``reason``."""

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(reason, path)
        self.reason = reason
        self.path = path
        """Where in the data: names of fields and positions, such as ``lines/3/price``."""

    def __str__(self) -> str:
        return f"At {self.path}: {self.reason}." if self.path else f"{self.reason[:1].upper()}{self.reason[1:]}."


class DoesNotDecode(DoesNotFit):
    """The bytes are no data of the schema."""


class DoesNotEncode(DoesNotFit):
    """The value is no data of the schema."""
