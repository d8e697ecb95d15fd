"""A Kerberos realm of its own on a loopback port, with MIT's KDC, and keys in keytabs.

It needs Debian's krb5-kdc (``make kerberos``) and the Python library ``gssapi``.
:func:`why_missing` names the missing part in a sentence, and tests skip with it.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from peers.ports import free_port

REALM = "BARNABAS.TEST"
SERVICE = "kafka"
# Debian installs the KDC's programs where only root's path looks.
_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
_START_SECONDS_MAX = 30

_CLIENT = """[libdefaults]
  default_realm = {realm}
  dns_lookup_kdc = false
  dns_lookup_realm = false
  dns_canonicalize_hostname = false
  rdns = false
  udp_preference_limit = 1
[realms]
  {realm} = {{
    kdc = 127.0.0.1:{port}
  }}
"""
_SERVER = """[kdcdefaults]
  kdc_listen = 127.0.0.1:{port}
  kdc_tcp_listen = 127.0.0.1:{port}
[realms]
  {realm} = {{
    database_name = {directory}/principal
    key_stash_file = {directory}/stash
    acl_file = {directory}/acl
    max_life = 10h
    supported_enctypes = aes256-cts-hmac-sha1-96:normal aes128-cts-hmac-sha1-96:normal
  }}
"""


def why_missing() -> str | None:
    if shutil.which("krb5kdc", path=_PATH) is None or shutil.which("kadmin.local", path=_PATH) is None:
        return "no Kerberos KDC on this machine: run `make kerberos`"
    if find_spec("gssapi") is None:
        return "the Python library gssapi is missing: run `make kerberos`"
    return None


class Realm:
    def __init__(self, directory: Path, port: int) -> None:
        self.directory = directory
        self.config = directory / "krb5.conf"
        self.config.write_text(_CLIENT.format(realm=REALM, port=port))
        kdc = directory / "kdc.conf"
        kdc.write_text(_SERVER.format(realm=REALM, port=port, directory=directory))
        # For every process that uses this realm.
        self.environment = {"KRB5_CONFIG": str(self.config), "KRB5RCACHENAME": f"file2:{directory}/replays"}
        self._own = {**os.environ, **self.environment, "KRB5_KDC_PROFILE": str(kdc), "PATH": _PATH}
        self._run("kdb5_util", "create", "-s", "-r", REALM, "-P", "master")

    def add_once(self, principal: str) -> Path:
        """The keytab of a principal, which is made with the first call."""
        path = self.directory / f"{principal.replace('/', '-')}.keytab"
        if path.exists():
            return path
        self._run("kadmin.local", "-r", REALM, "addprinc", "-randkey", principal)
        self._run("kadmin.local", "-r", REALM, "ktadd", "-k", str(path), principal)
        return path

    def ticket(self, principal: str, keytab: Path) -> Path:
        """A cache with a ticket, for clients that read nothing else."""
        cache = self.directory / f"{principal}.tickets"
        self._run("kinit", "-k", "-t", str(keytab), "-c", f"FILE:{cache}", principal)
        return cache

    def serve(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(["krb5kdc", "-n", "-r", REALM], env=self._own, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def _run(self, *command: str) -> None:
        done = subprocess.run(command, env=self._own, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)} exited {done.returncode}\n{done.stdout}\n{done.stderr}")


@contextmanager
def kerberos_realm(directory: Path) -> Iterator[Realm]:
    port = free_port()
    realm = Realm(directory, port)
    kdc = realm.serve()
    try:
        _await_port(port, kdc)
        yield realm
    finally:
        kdc.terminate()
        kdc.wait(30)


def _await_port(port: int, kdc: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _START_SECONDS_MAX
    while time.monotonic() < deadline:
        if kdc.poll() is not None:
            raise RuntimeError(f"the KDC exited {kdc.returncode}")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise RuntimeError(f"the KDC did not open port {port} in {_START_SECONDS_MAX} s")
