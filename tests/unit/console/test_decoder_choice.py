from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from barnabas.client_settings.errors import SettingsRefused
from barnabas.console.config_file import console_settings
from barnabas.console.core.decoding.decoder_choice import (
    DETECTED,
    ChosenBy,
    DecoderChoice,
    TopicDecoders,
    chosen,
    decoders_of,
)


def _chosen(page: DecoderChoice, file: DecoderChoice = DETECTED) -> DecoderChoice:
    return chosen("orders", "value", page=page, file=file)


def test_the_page_wins_over_the_file_and_the_file_over_detection() -> None:
    file = DecoderChoice("schema")
    assert _chosen(DETECTED) == DETECTED
    assert _chosen(DETECTED, file) == DecoderChoice("schema", "orders-value", "", ChosenBy.FILE)
    assert _chosen(DecoderChoice("hex"), file) == DecoderChoice("hex", chosen_by=ChosenBy.PAGE)
    assert _chosen(DecoderChoice("detect"), file) == DETECTED


def test_a_page_that_names_a_subject_wants_its_schema() -> None:
    assert _chosen(DecoderChoice("auto", "other", "acme.M")) == DecoderChoice("schema", "other", "acme.M", ChosenBy.PAGE)
    assert _chosen(DecoderChoice("text", "other")) == DecoderChoice("text", chosen_by=ChosenBy.PAGE)


def test_decoders_of_a_topic_are_found_by_its_name_and_then_by_the_longest_beginning() -> None:
    made = {name: TopicDecoders(value=DecoderChoice("schema", name)) for name in ("*", "a.*", "a.b.*", "a.b.c")}
    found = [decoders_of(topic, made).value.subject for topic in ("x", "a.x", "a.b.x", "a.b.c")]
    assert found == ["*", "a.*", "a.b.*", "a.b.c"]
    assert decoders_of("x", {}) == TopicDecoders()


def _settings(decoders: Any) -> Any:
    return console_settings({"clusters": {"c": {"bootstrap": "h:1", "decoders": decoders}}}, Path()).clusters[0].decoders


def test_the_file_of_the_console_names_decoders_of_topics() -> None:
    assert _settings({"t": {"value_subject": "s", "key": "number"}, "p*": {"value": "detect"}}) == {
        "t": TopicDecoders(DecoderChoice("number"), DecoderChoice("schema", "s")),
        "p*": TopicDecoders(),
    }
    with pytest.raises(SettingsRefused, match="The decoder of the value of t is one of auto, "):
        _settings({"t": {"value": "xml"}})
    with pytest.raises(SettingsRefused, match="The decoders of t has no setting 'format'"):
        _settings({"t": {"format": "json"}})
