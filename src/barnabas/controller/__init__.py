"""The controller around its decisions: the active controller in this node, and the way to it.

A broker and the controller talk in requests of the protocol, also when both are in one process, so
there is one way in: :class:`~barnabas.controller.port.ControllerPort`. Read in this order:

    core                     the decisions (pure): a request becomes records and a response
    driver                   ControllerDriver: runs the core in the node that leads the quorum
    listening_clock          the clock on which the sessions of brokers are measured
    port, channel            ControllerChannel: sends a request to the active controller, here or
                             over the wire, until it gets a response or the time is over
    envelopes                the bytes of a client's request that a broker forwards (KIP-590)
    error_responses          a response of any API that carries only an error
    absent_brokers           finds out that the process of a broker is gone, before its session ends
    broker_lifecycle         a broker registers, sends heartbeats, and leaves by controlled shutdown
    controller_registration  a controller registers
    internal_topics          topics that a broker creates without a CreateTopics request
    producer_id_blocks       blocks of producer ids for this broker's clients

Invariants:

- A response leaves only when the records of its decision are committed. Responses to clients also
  wait until this node has published them; responses to heartbeats do not.
- At most one controller is active. One that loses the quorum answers NOT_CONTROLLER from then on,
  also to requests that wait.
- Every request through the channel ends in a response of its own API.

Not here: elections of the controller itself (``quorum``), the image that decisions build
(``metadata``), and the handlers that check and forward requests of clients (``api``).
"""
