"""Settings of a node whose listeners all ask for a password."""

from __future__ import annotations

MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
JAAS = f'{MODULE} required username="admin" password="admins" user_admin="admins" user_alice="wonder";'


def sasl_listeners(protocol: str = "SASL_PLAINTEXT") -> dict[str, str]:
    return {
        "listeners": f"{protocol}://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
        "listener.security.protocol.map": f"{protocol}:{protocol},CONTROLLER:{protocol}",
        "security.inter.broker.protocol": protocol,
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "sasl.mechanism.controller.protocol": "PLAIN",
        f"listener.name.{protocol.lower()}.plain.sasl.jaas.config": JAAS,
        "listener.name.controller.plain.sasl.jaas.config": JAAS,
    }


def protocols(protocol: str) -> dict[str, str]:
    """All listeners of every node with one security protocol. The names of listeners stay."""
    return {
        "listener.security.protocol.map": f"PLAINTEXT:{protocol},CONTROLLER:{protocol}",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "sasl.mechanism.controller.protocol": "PLAIN",
        "listener.name.plaintext.plain.sasl.jaas.config": JAAS,
        "listener.name.controller.plain.sasl.jaas.config": JAAS,
    }
