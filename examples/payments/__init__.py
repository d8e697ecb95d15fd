"""Payments: a small service of its own, and tests that break Kafka under it.

The service reads orders, charges each one, and writes a payment. Exactly one payment follows from
an order, although brokers fail, answers are lost and the service itself is restarted. There is no
pipeline and no Spark here: it is an application on a client library, as most are.

Read in this order:

    order          Order and Payment, and their JSON
    service        PaymentService: consume, charge, produce, commit
    tests          the service with fresh brokers, and with the faults that it promises to survive
"""
