"""Which decoder a key or a value gets: that of the page, of the console's file, or a detected one.

The page wins over the file, and the file over detection. Every shown value names the decoder and
its origin, because bytes without a schema of their own fit more than one decoder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from barnabas.console.core.decoding.detection import FORMATS

# The latest schema of a subject; the bytes do not name one.
SCHEMA: Final = "schema"
# What a person may choose. ``auto`` is the choice of the file, or detection; ``detect`` ignores the
# file.
CHOICES: Final = (*FORMATS, SCHEMA, "detect")


class ChosenBy(Enum):
    BYTES = "bytes"
    """Detected."""
    FRAME = "frame"
    """The value or its header names the schema."""
    PAGE = "page"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class DecoderChoice:
    format: str = "auto"
    subject: str = ""
    """Of the schema; ``TOPIC-value`` or ``TOPIC-key`` if empty."""
    message: str = ""
    """The full name of a Protobuf message; the first of the schema if empty."""
    chosen_by: ChosenBy = ChosenBy.BYTES


DETECTED: Final = DecoderChoice()


@dataclass(frozen=True, slots=True)
class TopicDecoders:
    """The decoders of the file of the console, for one topic."""

    key: DecoderChoice = DETECTED
    value: DecoderChoice = DETECTED


def decoders_of(topic: str, configured: Mapping[str, TopicDecoders]) -> TopicDecoders:
    """The exact name first, then the longest beginning: ``sensor.*`` is for all that begin with
    ``sensor.``."""
    if topic in configured:
        return configured[topic]
    beginnings = [each for each in configured if each.endswith("*") and topic.startswith(each[:-1])]
    return configured[max(beginnings, key=len)] if beginnings else TopicDecoders()


def chosen(topic: str, part: str, *, page: DecoderChoice, file: DecoderChoice) -> DecoderChoice:
    """``part`` is ``key`` or ``value``. A page that names a subject wants its schema."""
    if page.format == "auto" and page.subject:
        page = DecoderChoice(SCHEMA, page.subject, page.message)
    if page.format == "detect":
        return DETECTED
    choice = file if page.format == "auto" else page
    if choice.format == "auto":
        return DETECTED
    by = ChosenBy.FILE if page.format == "auto" else ChosenBy.PAGE
    subject = choice.subject or f"{topic}-{part}" if choice.format == SCHEMA else ""
    return DecoderChoice(choice.format, subject, choice.message, by)
