"""The certificates, users and settings of a secured test cluster.

They are those of ``barnabas up --secure`` (:mod:`barnabas.devcluster.secure`), with one difference:
the user ``admin`` is among the first records of the cluster, so it exists when the cluster starts.
The helpers of the test log in as a node does, with PLAIN, which takes less time than SCRAM.
"""

from __future__ import annotations

import datetime
import secrets
import socket
import ssl
from collections.abc import Sequence
from pathlib import Path

from barnabas.devcluster.development import LOCALHOST
from barnabas.devcluster.secure import ADMIN, ADMIN_MECHANISM, NODE_USER, SecureFiles
from barnabas.security.sasl.add_scram import ScramUserToAdd
from barnabas.security.sasl.scram_credentials import ITERATIONS_MIN
from barnabas.testing.client.login import log_in_with_plain

_PASSWORD_BYTES = 12


class ClusterSecurity:
    def __init__(self, directory: Path, *, nodes: Sequence[int]) -> None:
        """Makes the files below ``directory``. Raises ``CannotStart``."""
        self._files = SecureFiles(directory, nodes=nodes, host=LOCALHOST, now=datetime.datetime.now(datetime.UTC))
        self._context = ssl.create_default_context(cafile=str(self._files.trusted))
        self._passwords = {ADMIN: self._files.admin_password}

    @property
    def first_user(self) -> ScramUserToAdd:
        return ScramUserToAdd(ADMIN_MECHANISM, ADMIN, ITERATIONS_MIN, salt=None, password=self._files.admin_password, salted_password=None)

    def node_properties(self, node_id: int) -> dict[str, str]:
        return self._files.node_properties(node_id)

    def client_settings(self, bootstrap: str, user: str = ADMIN) -> dict[str, str]:
        return self._files.librdkafka_properties(bootstrap, user, self._password(user))

    def java_client_settings(self, bootstrap: str, user: str = ADMIN) -> dict[str, str]:
        return self._files.java_properties(bootstrap, user, self._password(user))

    def choose_password(self, user: str, password: str | None) -> str:
        # URL-safe text needs no escape in a properties file or a JAAS entry.
        chosen = self._passwords[user] = password or secrets.token_urlsafe(_PASSWORD_BYTES)
        return chosen

    def _password(self, user: str) -> str:
        if user not in self._passwords:
            raise ValueError(f"There is no user {user!r}: add_user() adds one.")
        return self._passwords[user]

    def connect(self, host: str, port: int, timeout: float) -> socket.socket:
        """A connection for the helpers of the test. Raises ``OSError``."""
        plain = socket.create_connection((host, port), timeout=timeout)
        try:
            connection = self._context.wrap_socket(plain, server_hostname=host)
        except BaseException:
            plain.close()
            raise
        try:
            log_in_with_plain(connection, NODE_USER, self._files.node_password)
        except BaseException:
            connection.close()
            raise
        return connection
