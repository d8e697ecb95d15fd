"""The methods of a test cluster for clients that log in, for users and for ACLs."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from barnabas.testing.client.helper_client import Deadline, HelperClient
from barnabas.testing.client.helpers import TIMEOUT_SECONDS, ClusterHelpers

if TYPE_CHECKING:
    from barnabas.testing.security import ClusterSecurity


class AccessHelpers(ClusterHelpers):
    """On a cluster without ``secure=True`` the settings of a client are its address alone, so a
    test can be the same for both; the methods for users and ACLs raise ``ValueError``."""

    def __init__(self, client: HelperClient, security: ClusterSecurity | None) -> None:
        super().__init__(client)
        self._security = security

    @property
    @abstractmethod
    def bootstrap(self) -> str:
        """For ``bootstrap.servers``; empty before the first start. Brokers keep their ports."""

    @property
    def client_settings(self) -> dict[str, str]:
        """What a client needs, with librdkafka's names: the address, and for a secured cluster the
        certificate to trust and the login of the user ``admin``, who may do everything."""
        return {"bootstrap.servers": self.bootstrap} if self._security is None else self._security.client_settings(self.bootstrap)

    @property
    def java_client_settings(self) -> dict[str, str]:
        """The same with the names of Java's clients, for Kafka's tools and for Spark."""
        return {"bootstrap.servers": self.bootstrap} if self._security is None else self._security.java_client_settings(self.bootstrap)

    def settings_of(self, user: str) -> dict[str, str]:
        """:attr:`client_settings` of another user."""
        return self._secured().client_settings(self.bootstrap, user)

    def add_user(self, name: str, password: str | None = None, *, timeout: float = TIMEOUT_SECONDS) -> dict[str, str]:
        """Add a user, or give it another password. Returns the settings of a client that logs in as
        this user. The user may do nothing until :meth:`allow` says so."""
        from barnabas.testing.client.access import add_user

        add_user(self.client, name, self._secured().choose_password(name, password), Deadline(timeout))
        return self.settings_of(name)

    def allow(
        self,
        user: str,
        *operations: str,
        topic: str | None = None,
        group: str | None = None,
        transactional_id: str | None = None,
        timeout: float = TIMEOUT_SECONDS,
    ) -> None:
        """Add an ACL for each operation: ``kafka.allow("alice", "Read", topic="orders")``. Without
        a resource it is about the cluster; the name ``*`` is every resource of its type."""
        self._secured()
        from barnabas.testing.client.access import allow, resource_named

        resource = resource_named(topic=topic, group=group, transactional_id=transactional_id)
        allow(self.client, user, operations, resource, Deadline(timeout))

    def _secured(self) -> ClusterSecurity:
        if self._security is None:
            raise ValueError("Only a cluster with secure=True has users and ACLs.")
        return self._security
