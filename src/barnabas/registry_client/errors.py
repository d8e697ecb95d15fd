"""How a request to a registry can fail.

::

    RegistryError
    ├── RegistrySettingsRefused   the settings make no client
    ├── RegistryUnreachable       no instance answers: try again later
    └── RegistryRefused           an instance answers with an error
        └── NotFound              the subject, version or schema does not exist
"""

from __future__ import annotations


class RegistryError(Exception):
    """The text is a sentence for users."""


class RegistrySettingsRefused(RegistryError, ValueError):
    """A setting is missing, or its value cannot be used."""


class RegistryUnreachable(RegistryError):
    """No instance answers in time, or only with an error of its own or of the moment (status 5xx,
    408 or 429)."""


class RegistryRefused(RegistryError):
    """The registry answers with an error of the request."""

    def __init__(self, message: str, *, status: int, code: int) -> None:
        super().__init__(message)
        self.status = status
        """Of HTTP."""
        self.code = code
        """Confluent's, such as 40901 for an incompatible schema; the status if there is none."""


class NotFound(RegistryRefused):
    """The subject, version or schema does not exist (status 404)."""
