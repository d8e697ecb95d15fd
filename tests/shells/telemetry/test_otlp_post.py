"""One POST to a collector behind TLS."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from barnabas.telemetry.otlp_post import Endpoint, Fate
from tests.cli.running import Cli
from tests.collector import collector


def test_a_collector_behind_tls_needs_a_certificate_that_the_system_trusts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Cli()("certs", "ca", tmp_path).worked()
    Cli()("certs", "node", tmp_path, "--host", "127.0.0.1", "--name", "collector").worked()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "collector.pem")
    with collector(tls=tls) as there:
        refused = Endpoint(there.url).post(b"push")
        assert refused.fate is Fate.TRY_AGAIN
        assert "CERTIFICATE_VERIFY_FAILED" in refused.reason
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        assert Endpoint(there.url).post(b"push").fate is Fate.TAKEN
        assert there.bodies == [b"push"]
