"""An operation: one function that serves a page and an endpoint of the JSON API.

    view("list_topics", "/clusters/{cluster}/topics", list_topics, page="topics/list.html", ...)

is ``GET /api/clusters/{cluster}/topics``, and the page ``/clusters/{cluster}/topics`` that shows
the same answer with a template. A :func:`change` is sent with POST: by a program to ``/api``, by
the form of a page to the address without it, which then leads to :attr:`Changed.location`.

The function gets a :class:`~barnabas.console.web.call.Call` and returns a dataclass. The type of
its answer is the one of the OpenAPI document.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from barnabas.console.web.parameters import Parameter

if TYPE_CHECKING:
    from barnabas.console.web.call import Call

Function = Callable[["Call"], Awaitable[Any]]

# A change of a production cluster carries the name of the cluster in this parameter.
CONFIRMATION: Final = Parameter("confirm", "The name of the cluster, for a change of a production cluster.")


@dataclass(frozen=True, slots=True)
class Changed:
    """What a change did."""

    done: str
    """A sentence for the person."""
    location: str
    """The page that shows the result."""


@dataclass(frozen=True, slots=True)
class Stream:
    """An answer that is made while it is sent: events of a live tail, lines of an export."""

    content: AsyncIterator[bytes]
    media_type: str
    file_name: str | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    name: str
    method: str
    path: str
    function: Function
    summary: str
    page: str | None = None
    """The template; an operation without one has no page."""
    parameters: tuple[Parameter, ...] = ()
    changes: bool = False
    """Needs a token against forged requests, is refused in read-only mode, and is in the audit
    log."""
    needs_session: bool = True
    """Whether the cluster's login is needed; the page of the login itself has none."""

    @property
    def segments(self) -> tuple[str, ...]:
        return tuple(each for each in self.path.split("/") if each)

    @property
    def path_names(self) -> tuple[str, ...]:
        return tuple(each[1:-1] for each in self.segments if each.startswith("{"))

    @property
    def section(self) -> str:
        """The part of a cluster that the operation belongs to: ``topics``, ``groups``."""
        segments = self.segments
        return segments[2] if len(segments) > 2 and segments[0] == "clusters" else segments[0] if segments else ""


def view(
    name: str, path: str, function: Function, *, summary: str, page: str | None = None, parameters: tuple[Parameter, ...] = ()
) -> Operation:
    """Something to look at."""
    return Operation(name, "GET", path, function, summary, page, parameters)


def change(name: str, path: str, function: Function, *, summary: str, parameters: tuple[Parameter, ...] = ()) -> Operation:
    """Something that changes the cluster."""
    return Operation(name, "POST", path, function, summary, None, (*parameters, CONFIRMATION), changes=True)


@dataclass(frozen=True, slots=True)
class Section:
    """An entry of a cluster's navigation."""

    title: str
    path: str
    """Below ``/clusters/{cluster}/``; empty for the cluster itself."""
