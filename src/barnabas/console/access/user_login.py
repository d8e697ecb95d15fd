"""Logins with the cluster's own users: the console connects with the name and the password that a
person types, and acts as that principal from then on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from barnabas.console.errors import ClusterRefused, Forbidden, LoginNeeded
from barnabas.console.settings import ClusterSettings
from barnabas.console.web.sessions import Login

if TYPE_CHECKING:
    from barnabas.console.services import Services

DEFAULT_MECHANISM: Final = "SCRAM-SHA-512"
# Brokers refuse longer ones.
CREDENTIAL_CHARACTERS_MAX: Final = 1_000


def login_of(cluster: ClusterSettings, user: str, password: str) -> Login:
    if not cluster.has_passwords:
        raise Forbidden(f"The cluster {cluster.name} has no logins{' with a password' if cluster.has_logins else ''}.")
    if not user or not password or max(len(user), len(password)) > CREDENTIAL_CHARACTERS_MAX:
        raise LoginNeeded("A login has a name and a password.", cluster.name)
    mechanism = cluster.properties.get("sasl.mechanism") or cluster.properties.get("sasl.mechanisms") or DEFAULT_MECHANISM
    own = {name: value for name, value in cluster.properties.items() if not name.startswith("sasl.")}
    return Login(f"User:{user}", {**own, "sasl.mechanism": mechanism, "sasl.username": user, "sasl.password": password})


async def try_login(services: Services, cluster: ClusterSettings, login: Login, address: str, *, seconds: float = 0.0) -> None:
    """A login that a broker accepted within the last seconds is not tried again. Raises
    :class:`LoginNeeded` with the broker's reason, and :class:`Busy` for an address that has tried
    too often. The connection is kept for the first page."""
    with services.failed_logins.attempt(address, (cluster.name, login.principal, login.properties["sasl.password"])):
        try:
            await services.client(cluster, login).log_in(seconds=seconds)
        except ClusterRefused as refused:
            services.failed_logins.add(address)
            services.forget(cluster, login)
            services.log.info("console login refused", cluster=cluster.name, principal=login.principal, address=address)
            raise LoginNeeded(f"The login at {cluster.name} failed: {refused.sentence}", cluster.name) from refused
