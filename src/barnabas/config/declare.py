"""The names that tables of keys are written with, so that a table needs one import and a
declaration fits on a line.
"""

from __future__ import annotations

from typing import Final

from barnabas.config.keys import REQUIRED, ConfigKey, ConfigType, Scope, no_effect, refused
from barnabas.config.validators import NOT_EMPTY, Between, ListOf, Matching, OneOf, at_least, between, each, list_of, one_of
from barnabas.config.values import DOUBLE_MAX, INT_MAX, LONG_MAX

__all__ = [
    "BOOLEAN",
    "CLASS",
    "DOUBLE",
    "INT",
    "LIST",
    "LONG",
    "PASSWORD",
    "SHORT",
    "STRING",
    "CLUSTER_WIDE",
    "PER_BROKER",
    "REQUIRED",
    "ConfigKey",
    "no_effect",
    "refused",
    "NOT_EMPTY",
    "ListOf",
    "Matching",
    "OneOf",
    "at_least",
    "between",
    "each",
    "list_of",
    "one_of",
    "CODECS",
    "GZIP_LEVELS",
    "DOUBLE_MAX",
    "INT_MAX",
    "LONG_MAX",
]

BOOLEAN: Final = ConfigType.BOOLEAN
CLASS: Final = ConfigType.CLASS
DOUBLE: Final = ConfigType.DOUBLE
INT: Final = ConfigType.INT
LIST: Final = ConfigType.LIST
LONG: Final = ConfigType.LONG
PASSWORD: Final = ConfigType.PASSWORD
SHORT: Final = ConfigType.SHORT
STRING: Final = ConfigType.STRING

CLUSTER_WIDE: Final = Scope.CLUSTER_WIDE
PER_BROKER: Final = Scope.PER_BROKER

CODECS: Final = one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")
# zlib's level -1 means its default, which lies outside the range of its levels.
GZIP_LEVELS: Final = Between(1, 9, or_exactly=-1)
