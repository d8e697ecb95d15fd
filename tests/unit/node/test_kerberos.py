from __future__ import annotations

import pytest

from barnabas.config.parse import parse_broker_config
from barnabas.config.sasl import SaslSettings
from barnabas.model.cannot_start import CannotStart
from barnabas.node import kerberos
from barnabas.security.sasl.jaas import LoginModule

SETTINGS = {"node.id": "1", "process.roles": "broker,controller", "controller.quorum.voters": "1@localhost:9094"} | {
    "listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9094",
    "controller.listener.names": "CONTROLLER",
}


def test_a_node_without_the_extra_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kerberos, "find_spec", lambda _: None)
    sasl = SaslSettings(parse_broker_config(SETTINGS), "PLAINTEXT")
    with pytest.raises(CannotStart, match=r"pip install 'barnabas\[kerberos\]'"):
        kerberos.kerberos_exchanges(sasl, "PLAINTEXT", LoginModule("Krb5LoginModule", "required", {}))
