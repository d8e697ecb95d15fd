"""Texts are read and shown as Java does; the conformance tests compare thousands more with Kafka
itself.
"""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from barnabas.config.values import INT_MAX, LONG_MAX, ConfigType, Password, Value, java_double, read, write


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (ConfigType.BOOLEAN, " TRUE ", True),
        (ConfigType.BOOLEAN, "yes", None),
        (ConfigType.INT, "+7", 7),
        (ConfigType.INT, "0007", 7),
        (ConfigType.INT, "1_000", None),
        (ConfigType.INT, str(INT_MAX + 1), None),
        (ConfigType.INT, str(-INT_MAX - 1), -INT_MAX - 1),
        (ConfigType.SHORT, "32768", None),
        (ConfigType.LONG, str(LONG_MAX), LONG_MAX),
        (ConfigType.LONG, "9" * 100_000, None),
        (ConfigType.DOUBLE, "1e3", 1000.0),
        (ConfigType.DOUBLE, "0.5f", 0.5),
        (ConfigType.DOUBLE, "0x1p3", 8.0),
        (ConfigType.DOUBLE, "1_0.5", None),
        (ConfigType.DOUBLE, "inf", None),
        (ConfigType.LIST, "", ()),
        (ConfigType.LIST, " a , b,,c ", ("a", "b", "", "c")),
        (ConfigType.STRING, "  spaced out ", "spaced out"),
        (ConfigType.CLASS, " ", None),
    ],
)
def test_texts_are_read_as_java_reads_them(kind: ConfigType, text: str, value: Value) -> None:
    assert read(kind, text) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (0.5, "0.5"),
        (100.0, "100.0"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (9_999_999.0, "9999999.0"),
        (10_000_000.0, "1.0E7"),
        (-12_345_678.9, "-1.23456789E7"),
        (2_147_483_647.0, "2.147483647E9"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (5e-324, "5.0E-324"),
        (float("inf"), "Infinity"),
        (float("nan"), "NaN"),
    ],
)
def test_doubles_are_shown_as_java_shows_them(value: float, text: str) -> None:
    assert java_double(value) == text


@given(st.floats(allow_nan=False))
def test_a_double_survives_being_shown_and_read(value: float) -> None:
    assert read(ConfigType.DOUBLE, java_double(value)) == value


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (ConfigType.BOOLEAN, True, "true"),
        (ConfigType.LIST, ("a", "b"), "a,b"),
        (ConfigType.LIST, (), ""),
        (ConfigType.DOUBLE, 1, "1.0"),
        (ConfigType.INT, -1, "-1"),
        (ConfigType.STRING, None, None),
        (ConfigType.PASSWORD, Password("secret"), "[hidden]"),
    ],
)
def test_values_are_shown_as_kafka_shows_them(kind: ConfigType, value: Value, text: str | None) -> None:
    assert write(kind, value) == text


def test_a_password_hides_from_tracebacks_and_logs() -> None:
    secret = read(ConfigType.PASSWORD, " s3cret ")
    assert secret == "s3cret"
    assert repr(secret) == "[hidden]"
    assert "s3cret" not in repr({"ssl.key.password": secret})


def test_types_carry_the_numbers_of_describe_configs() -> None:
    assert [kind.code for kind in ConfigType] == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert ConfigType.PASSWORD.code == 9
