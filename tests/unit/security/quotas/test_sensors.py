from __future__ import annotations

from barnabas.security.quotas.sensors import ENTITIES_MAX, IDLE_MS_MAX, Sensors


def test_an_entity_keeps_its_sensor_while_it_is_used() -> None:
    sensors: Sensors[list[int]] = Sensors(list)
    sensors.of(("u", "c"), 0).append(1)
    sensors.of(("other", ""), IDLE_MS_MAX - 1)
    assert sensors.of(("u", "c"), IDLE_MS_MAX - 1) == [1]


def test_an_entity_that_was_idle_for_an_hour_is_dropped_when_a_new_one_comes() -> None:
    sensors: Sensors[list[int]] = Sensors(list)
    sensors.of(("u", "c"), 0).append(1)
    sensors.of(("new", ""), IDLE_MS_MAX)
    assert sensors.of(("u", "c"), IDLE_MS_MAX) == []


def test_the_least_recently_used_entity_makes_room() -> None:
    sensors: Sensors[list[int]] = Sensors(list)
    for number in range(ENTITIES_MAX):
        sensors.of(("", str(number)), number).append(number)
    sensors.of(("", "0"), ENTITIES_MAX)
    sensors.of(("", "new"), ENTITIES_MAX)
    assert len(sensors) == ENTITIES_MAX
    assert sensors.of(("", "0"), ENTITIES_MAX) == [0]
    assert sensors.of(("", "1"), ENTITIES_MAX) == []


def test_metrics_see_the_entities_that_were_used_last() -> None:
    sensors: Sensors[list[int]] = Sensors(list)
    for number in range(5):
        sensors.of(("", str(number)), number)
    assert [shared for shared, _ in sensors.latest(2)] == [("", "3"), ("", "4")]
