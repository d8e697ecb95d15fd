"""The client of the test itself: topics, records and groups in one call each.

Read in this order:

    messages       Message to produce, ConsumedRecord, and their shapes as users write them
    exchange       one request and its response
    login          the login at a secured cluster
    helper_client  HelperClient: requests to any broker, a leader or a coordinator
    topic_reader   TopicReader: reads a topic from its start, aborted transactions left out
    access         users and ACLs of a secured cluster
    helpers        ClusterHelpers: the methods that a cluster of a test inherits

It speaks the wire protocol with the node's own message classes, and not through a client library,
for three reasons: a fault that a test sets is for the application, and the broker recognises this
client and lets it pass; a call takes a millisecond, and starts no thread; and a test of an
application on aiokafka needs no other client.
"""
