"""Settings of a node with SASL on its clients' listener and a secret key for tokens, for Apache
Kafka and for Barnabas alike."""

from __future__ import annotations

SECRET_KEY = "the key of all nodes"
PASSWORDS = {"admin": "admins", "alice": "wonder", "bob": "bobs hammer", "carol": "singer"}
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
_USERS = " ".join(f'user_{name}="{password}"' for name, password in PASSWORDS.items())

DAY_MS = 86_400_000

SASL = {
    # The names of listeners stay, so that everything that starts nodes for tests can start these.
    "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
    "listener.name.plaintext.plain.sasl.jaas.config": f'{_PLAIN} required username="admin" password="admins" {_USERS};',
    "listener.name.plaintext.scram-sha-256.sasl.jaas.config": f"{_SCRAM} required;",
    "listener.name.plaintext.scram-sha-512.sasl.jaas.config": f"{_SCRAM} required;",
}
TOKENS = {"delegation.token.secret.key": SECRET_KEY}
