"""Compiled functions stand in for functions in Python, unless the environment forbids it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from barnabas.model.compiled import PURE_VARIABLE, compiled, in_python, is_compiled, new_key_table
from barnabas.wire.varint import read_uvarint
from tests.unit.both_scanners import needs_compiled, plain_python

LOOK = "from barnabas.model.compiled import is_compiled; from barnabas.wire.varint import read_uvarint; "
LOOK += "print(is_compiled(), type(read_uvarint).__name__)"


def test_the_environment_forces_plain_python() -> None:
    done = subprocess.run([sys.executable, "-c", LOOK], env=os.environ | {PURE_VARIABLE: "1"}, capture_output=True, text=True, check=True)
    assert done.stdout == "False function\n"


@needs_compiled
def test_a_compiled_function_has_its_twin_in_python() -> None:
    assert type(read_uvarint).__name__ == "builtin_function_or_method"
    assert type(in_python(read_uvarint)).__name__ == "function"
    assert read_uvarint(b"\x96\x01", 0) == in_python(read_uvarint)(b"\x96\x01", 0) == (150, 2)


@needs_compiled
def test_a_function_that_was_not_compiled_is_a_mistake_of_ours() -> None:
    def unheard_of() -> None: ...

    with pytest.raises(KeyError, match="unheard_of"):
        compiled(unheard_of)


def test_without_compiled_code_functions_stay_what_they_are() -> None:
    with plain_python():

        def read_varint() -> None: ...

        assert not is_compiled()
        assert compiled(read_varint) is read_varint is in_python(read_varint)
        assert new_key_table(bytes(16), 10) is None
