"""Barnabas and Apache Kafka measured side by side: ``make bench``, or ``python -m bench --help``.

What is measured, and how it is kept fair:

- both servers get the same properties, loopback, and fresh data on the same disk; both stay alive, but only one is driven at a time;
- for every row the rounds alternate between the two, and so does who goes first: a machine that slows down slows both;
- a server is warmed up when it starts, and each row runs once on each server before it counts: the JVM compiles what it runs often;
- clients are C or Apache Kafka's own Java, so that it is the server that limits, and they check what they are told;
- a row is the median of its rounds, shown with the least and the most.

=================  =================================================================================================================
``systems``        the two servers as child processes
``usage``          what a process cost: CPU seconds, resident memory
``programs``       load generators written in C and Java, compiled into ``.bench/`` when they are first needed
``members``        a group's members as raw sockets, by either protocol
``measurement``    what a row is, and how much work it does
``rows/``          the rows, one measurement a file
``rounds``         whose turn it is
``results``        medians, ratios, goals
``kept_results``   the results as data, in ``docs/``
``drawing``        shapes and words as SVG
``charts``         the figures of the page
``report``         a table on the terminal, a page in ``docs/``
=================  =================================================================================================================
"""
