"""A request to an operation: its values, its session, and the cluster that it is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from barnabas.console.web.operation import Operation
from barnabas.console.web.sessions import Login, Session

if TYPE_CHECKING:
    from starlette.requests import Request

    from barnabas.console.access.cluster_client import ClusterClient
    from barnabas.console.services import Services


@dataclass(slots=True)
class Call:
    operation: Operation
    path: Mapping[str, str]
    """The placeholders of the operation's path."""
    session: Session
    services: Services
    request: Request
    values: dict[str, Any] = field(default_factory=dict)
    as_json: bool = False
    """Whether the answer is JSON and no page."""
    basic_login: Login | None = None
    """The login of a request with HTTP Basic credentials. Such a request has no session and no other
    login, and :attr:`logins` says at which cluster it has this one."""
    logins: dict[str, Login] = field(default_factory=dict)
    """The logins at clusters that this request was accepted with. Another request of the session
    may renew or end those of the session before this one is done."""

    @property
    def cluster_name(self) -> str:
        return self.path.get("cluster", "")

    @property
    def cluster(self) -> ClusterClient:
        """The cluster of the path, as the principal of the session. Raises ``NotFound``, and
        ``LoginNeeded`` when the session has no login there."""
        return self.services.client_of(self.cluster_name, self)

    @property
    def principal(self) -> str:
        login = self.logins.get(self.cluster_name) or self.basic_login
        if login is not None:
            return login.principal
        return self.session.identity.principal if self.session.identity is not None else "User:ANONYMOUS"

    @property
    def address(self) -> str:
        return self.request.client.host if self.request.client is not None else ""

    def text(self, name: str) -> str:
        value = self.values[name] if name in self.values else self.path[name]
        return value if value is not None else ""

    def number(self, name: str) -> int:
        value = self.values[name]
        assert isinstance(value, int), f"{name} has no default"
        return value

    def optional_number(self, name: str) -> int | None:
        value = self.values[name]
        assert value is None or isinstance(value, int)
        return value

    def flag(self, name: str) -> bool:
        return bool(self.values[name])

    def texts(self, name: str) -> list[str]:
        return self.values[name] or []

    def url(self, *parts: str | int, **query: Any) -> str:
        """A page of the cluster of this call."""
        return page_url("clusters", self.cluster_name, *parts, **query)


def page_url(*parts: str | int, **query: Any) -> str:
    """The address of a page; each part is encoded, so that an id may contain a slash."""
    path = "/" + "/".join(quote(str(each), safe="") for each in parts)
    pairs = [
        f"{quote(name, safe='')}={quote(_word(each), safe='')}"
        for name, value in query.items()
        if value not in (None, "", False)
        for each in (value if isinstance(value, list) else [value])
    ]
    return path + ("?" + "&".join(pairs) if pairs else "")


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
