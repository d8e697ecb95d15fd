"""The listeners of this node, and the addresses that it registers."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Iterator

from barnabas.config.listeners import (
    Listener as ListenerAddress,
    advertised_controller_listeners,
    advertised_listeners,
    controller_listeners,
    inter_broker_listener_name,
    listeners,
    security_protocols,
)
from barnabas.config.settings import BrokerSettings
from barnabas.controller.core.features import REGISTERED_FEATURES
from barnabas.env.descriptors import descriptors
from barnabas.model.ids import NodeId, Uuid
from barnabas.network.listener import AtLimit, Listener
from barnabas.network.sender import Duplicates
from barnabas.node.connection_limits import connection_limits
from barnabas.node.tls import server_tls
from barnabas.wire.apis import ApiKey
from barnabas.wire.messages.broker_registration import BrokerRegistrationRequest, Feature, Listener as RegisteredListener
from barnabas.wire.messages.controller_registration import (
    ControllerRegistrationRequest,
    Feature as ControllerFeature,
    Listener as ControllerListener,
)

# As registrations name them.
_PROTOCOL_NUMBERS = {"PLAINTEXT": 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}


class OwnAddresses:
    def __init__(
        self,
        settings: BrokerSettings,
        *,
        for_clients: Iterable[ApiKey],
        for_controllers: Iterable[ApiKey],
        report: Callable[[str, str], None],
        at_limit: Callable[[AtLimit], None],
        listen: Callable[..., Listener] = Listener,
    ) -> None:
        """Binds every port, without listening yet.

        A taken port is the commonest mistake, and the node has not changed anything so far.
        """
        self._settings = settings
        self.all: list[Listener] = []
        controllers = {listener.name for listener in controller_listeners(settings)}
        names = {listener.name for listener in listeners(settings)}
        between_brokers = inter_broker_listener_name(settings)
        duplicates = Duplicates(descriptors)
        for address in listeners(settings):
            belongs_to_controllers = address.name in controllers
            announced = for_controllers if belongs_to_controllers else for_clients
            made = listen(
                address.name,
                address.host,
                address.port,
                connection_limits(settings.values, settings.explicit),
                apis=frozenset(announced),
                for_controllers=belongs_to_controllers,
                report=report,
                tls=server_tls(settings, address),
            )
            made.at_limit = at_limit
            # Where clients have a separate listener, they must not exhaust that of the brokers.
            made.for_nodes = belongs_to_controllers or (address.name == between_brokers and len(names - controllers) > 1)
            made.duplicates = duplicates
            self.all.append(made)

    def __iter__(self) -> Iterator[Listener]:
        return iter(self.all)

    @property
    def bootstrap(self) -> str:
        """The address for bootstrap.servers; empty for a node without a listener for clients."""
        return next((f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for _, host, port in self.for_clients()), "")

    def _protocol(self, name: str) -> int:
        return _PROTOCOL_NUMBERS[security_protocols(self._settings)[name]]

    def for_clients(self) -> Iterator[tuple[str, str, int]]:
        return self._reachable(advertised_listeners(self._settings))

    def for_controllers(self) -> Iterator[tuple[str, str, int]]:
        return self._reachable(advertised_controller_listeners(self._settings))

    def _reachable(self, addresses: Iterable[ListenerAddress]) -> Iterator[tuple[str, str, int]]:
        """Name, host and port as other machines can use them.

        Port 0 is replaced by the port that was bound, and an empty host by this machine's name.
        """
        bound = {listener.name: listener.port for listener in self.all}
        for address in addresses:
            yield address.name, address.host or socket.getfqdn(), address.port or bound.get(address.name, 0)

    def broker_registration(
        self, node_id: NodeId, cluster_id: str, incarnation_id: Uuid, directories: list[Uuid], previous_epoch: int
    ) -> BrokerRegistrationRequest:
        return BrokerRegistrationRequest(
            broker_id=node_id,
            cluster_id=cluster_id,
            incarnation_id=incarnation_id,
            listeners=[
                RegisteredListener(name=name, host=host, port=port, security_protocol=self._protocol(name))
                for name, host, port in self.for_clients()
            ],
            features=[
                Feature(name=name, min_supported_version=levels.lowest, max_supported_version=levels.highest)
                for name, levels in REGISTERED_FEATURES.items()
            ],
            rack=self._settings.text_or_none("broker.rack"),
            log_dirs=directories,
            previous_broker_epoch=previous_epoch,
        )

    def controller_registration(self, node_id: NodeId, incarnation_id: Uuid) -> ControllerRegistrationRequest:
        return ControllerRegistrationRequest(
            controller_id=node_id,
            incarnation_id=incarnation_id,
            zk_migration_ready=False,
            listeners=[
                ControllerListener(name=name, host=host, port=port, security_protocol=self._protocol(name))
                for name, host, port in self.for_controllers()
            ],
            features=[
                ControllerFeature(name=name, min_supported_version=levels.lowest, max_supported_version=levels.highest)
                for name, levels in REGISTERED_FEATURES.items()
            ],
        )

    def close(self) -> None:
        for listener in self.all:
            listener.stop_accepting()
            listener.close()
