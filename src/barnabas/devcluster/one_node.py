"""Settings that users of Kafka give to a single development node, fitted to the settings that it
has anyway.

========================  ======================================================================
``node.id, broker.id``    the node gets the id, and is the voter of that id. A restart without the
                          setting keeps the id of the data.
``log.dir``               means ``log.dirs``, which alone has an effect where both are set
``listeners``             gets a listener for the controller if it has none
========================  ======================================================================

All other settings replace those of :func:`~barnabas.devcluster.development.development_properties`.
"""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.env.disk import Disk, disk_sentence
from barnabas.model.cannot_start import CannotStart
from barnabas.storage.meta_properties import MetaPropertiesDamaged, read_meta_properties

CONTROLLER_LISTENER = "CONTROLLER"
_FIRST_NODE = 1


def fitted(overrides: Mapping[str, str], *, disk: Disk, data_dir: str, host: str) -> dict[str, str]:
    """Raises ``CannotStart`` for data that cannot be read."""
    result = dict(overrides)
    if "log.dirs" not in result:
        result["log.dirs"] = result.get("log.dir", data_dir)
    node_id = result.get("node.id", result.get("broker.id"))
    if node_id is None:
        node_id = str(_id_of_data(disk, result["log.dirs"].partition(",")[0].strip()))
    result.setdefault("node.id", node_id)
    result.setdefault("controller.quorum.voters", f"{node_id.strip()}@{host}:0")
    given = result.get("listeners")
    if given is not None and f"{CONTROLLER_LISTENER}://" not in given and _is_controller(result):
        result["listeners"] = f"{given},{CONTROLLER_LISTENER}://{host}:0"
    return result


def _is_controller(settings: Mapping[str, str]) -> bool:
    """Whether this node is a controller whose listener has the usual name."""
    names = settings.get("controller.listener.names", CONTROLLER_LISTENER)
    return names.strip() == CONTROLLER_LISTENER and "controller" in settings.get("process.roles", "controller")


def _id_of_data(disk: Disk, directory: str) -> int:
    try:
        meta = read_meta_properties(disk, directory) if disk.exists(directory) else None
    except MetaPropertiesDamaged as damaged:
        raise CannotStart(str(damaged)) from damaged
    except OSError as error:
        raise CannotStart(disk_sentence(f"cannot read {directory}", error)) from error
    return _FIRST_NODE if meta is None else meta.node_id
