"""The console: a web page and a JSON API to look into Kafka clusters, and to change them.

It meets brokers only over the wire, so it works with any Kafka cluster, and it acts as the
principal that is logged in, so Kafka's ACLs are its permissions.

Nouns: an *operation* is a function that serves an endpoint of the API and the page of the same
address; a *view* is an operation to look at, a *change* one that changes a cluster. A *session* has
the *logins* of a person. A *client* is a cluster as one principal.

Read in this order: :mod:`.settings` and :mod:`.config_file`, :mod:`.web` (operations, parameters,
sessions; nothing of Kafka), :mod:`.access` (clusters over the wire), :mod:`.core` (pure decisions),
:mod:`.views` with :mod:`.catalogue` (all operations), then :mod:`.services`, :mod:`.app` and
:mod:`.process`, which put a console together.

How to add a view:

1. *Core.* What the view shows is decided by functions of values in ``core/NAME.py``, with tests in
   ``tests/unit/console``. Reuse :mod:`.core.paging` for lists.
2. *Access.* If brokers must be asked something new, ``access/NAME.py`` has a function with a
   :class:`~.access.cluster_client.ClusterClient` that returns values of the core.
   ``client.ask_any``, ``ask_broker``, ``ask_coordinator`` and ``ask_each_broker`` take messages
   of :mod:`barnabas.wire.messages`; a change passes ``is_change=True``. ``client.kept`` reuses an
   answer for a moment. :func:`~.access.refusals.refuse_error` turns an error code into a sentence.
3. *View.* ``views/NAME.py`` has a dataclass for each answer, ``async def show_name(call: Call) ->
   Answer``, and ``OPERATIONS`` made with :func:`~.web.operation.view` and
   :func:`~.web.operation.change`. Parameters are declared as
   :class:`~.web.parameters.Parameter` and read with ``call.text("name")``, ``call.number("name")``
   and ``call.flag("name")``; parts of the path with ``call.text`` too. ``call.cluster`` is the
   client. A change returns :class:`~.web.operation.Changed` with a sentence and the page to show.
4. *Catalogue.* Add ``*NAME.OPERATIONS`` to :data:`.catalogue.OPERATIONS`, and a
   :class:`~.web.operation.Section` if the navigation of a cluster should have it. A tab of a topic
   is a line in ``templates/topics/tabs.html``.
5. *Page.* ``templates/NAME/show.html`` extends ``layout.html`` and shows ``model``. Everything is
   escaped; never use ``|safe``. A form with a change has the attribute ``data-change`` and contains
   ``{{ guard() }}`` of ``macros.html``; show it only ``{% if may_change %}``. Tables have the class
   ``stacking`` and a ``data-label`` in each cell, so that they can be read on a phone. A field that
   belongs to one choice of a select has ``{{ shown_with(...) }}``. No style and
   no script inside of a page: the policy forbids them. ``static/console.js`` has what pages share.
6. *Tests.* ``tests/console`` calls the operation as JSON and as a page at a real broker; add the
   page to the list of ``tests/console/test_accessibility.py``.

Invariants:

- every page has an address that can be sent to a colleague, and shows the answer of the operation
  with the same address below ``/api``;
- every POST has a token; every change is in the audit log, and obeys read-only mode and the guard
  of production clusters;
- a connection serves one principal;
- nothing that a record, a broker or a person supplies is evaluated, and templates escape it;
- every list has pages, and everything that grows has a limit (:mod:`.limits`).
"""
