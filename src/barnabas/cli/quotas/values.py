"""The limits of clients as a command line names them."""

from __future__ import annotations

from barnabas.cli.errors import Refused
from barnabas.security.quotas import limits
from barnabas.security.quotas.limits import InvalidLimit


def check_limit(name: str) -> str:
    try:
        return limits.check_limit(name)
    except InvalidLimit as error:
        raise Refused(str(error)) from error


def parse_value(name: str, text: str) -> float:
    try:
        return limits.parse_value(name, text)
    except InvalidLimit as error:
        hint = "; `barnabas quotas remove` removes a limit." if "above 0" in str(error) else "."
        raise Refused(str(error).removesuffix(".") + hint) from error
