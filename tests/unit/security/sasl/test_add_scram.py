"""The notation of ``--add-scram``."""

from __future__ import annotations

import base64

import pytest

from barnabas.security.sasl.add_scram import parse_add_scram
from barnabas.security.sasl.scram_credentials import ScramMechanism, keys_of
from barnabas.wire.metadata_records import UserScramCredentialRecord

SALT = b"a salt of some bytes"
SALT_TEXT = base64.b64encode(SALT).decode()
SECRET = "hunter2-secret"


def expected(mechanism: ScramMechanism, iterations: int = 4096, salt: bytes = SALT) -> UserScramCredentialRecord:
    keys = keys_of(mechanism, mechanism.salted(SECRET, salt, iterations), salt, iterations)
    return UserScramCredentialRecord(
        name="alice",
        mechanism=mechanism.number,
        salt=salt,
        stored_key=keys.stored_key,
        server_key=keys.server_key,
        iterations=iterations,
    )


@pytest.mark.parametrize("mechanism", ScramMechanism)
def test_a_user_with_a_password_gets_a_random_salt_and_4096_iterations(mechanism: ScramMechanism) -> None:
    user = parse_add_scram(f"{mechanism.title}=[name=alice,password={SECRET}]")
    assert user.record(b"random") == expected(mechanism, salt=b"random")


def test_salt_and_iterations_can_be_given_and_values_quoted() -> None:
    user = parse_add_scram(f' SCRAM-SHA-512=[name="alice",salt="{SALT_TEXT}",iterations=8192,password="{SECRET}"] ')
    assert user.record(b"random") == expected(ScramMechanism.SHA_512, 8192)


def test_a_salted_password_needs_no_password() -> None:
    salted = base64.b64encode(ScramMechanism.SHA_256.salted(SECRET, SALT, 4096)).decode()
    user = parse_add_scram(f"SCRAM-SHA-256=[name=alice,salt={SALT_TEXT},saltedpassword={salted}]")
    assert user.record(b"random") == expected(ScramMechanism.SHA_256)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (SECRET, "is written as"),
        (f"SCRAM-SHA-1=[name=alice,password={SECRET}]", "must be one of SCRAM-SHA-256, SCRAM-SHA-512"),
        (f"SCRAM-SHA-256=name=alice,password={SECRET}", "stand in brackets"),
        (f"SCRAM-SHA-256=[name=alice,password={SECRET}", "stand in brackets"),
        (f"SCRAM-SHA-256=[password={SECRET}]", "needs a name"),
        (f"SCRAM-SHA-256=[name=,password={SECRET}]", "needs a name"),
        ("SCRAM-SHA-256=[name=alice]", "needs a password"),
        (f"SCRAM-SHA-256=[name=alice,password=x,{SECRET}]", "part 3 has no equals sign"),
        (f"SCRAM-SHA-256=[name=alice,{SECRET}=x]", "part 2 is none of"),
        (f"SCRAM-SHA-256=[name=alice,saltedpassword={SECRET}]", "needs its salt"),
        (f"SCRAM-SHA-256=[name=alice,salt={SALT_TEXT},saltedpassword={SECRET}]", "saltedpassword must be base64"),
        (f"SCRAM-SHA-256=[name=alice,salt=%,password={SECRET}]", "salt must be base64"),
        (f"SCRAM-SHA-256=[name=alice,password={SECRET},iterations=4095]", "from 4096 to 16384"),
        (f"SCRAM-SHA-256=[name=alice,password={SECRET},iterations=16385]", "from 4096 to 16384"),
        (f"SCRAM-SHA-256=[name=alice,password={SECRET},iterations=many]", "from 4096 to 16384"),
    ],
)
def test_a_mistake_is_named_without_the_secret(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence) as refused:
        parse_add_scram(text)
    assert SECRET not in str(refused.value)


def test_the_password_is_not_shown() -> None:
    assert SECRET not in repr(parse_add_scram(f"SCRAM-SHA-256=[name=alice,password={SECRET}]"))
