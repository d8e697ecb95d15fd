"""Barnabas and Apache Kafka measured side by side: ``make bench``, or ``python -m bench --help``.

How the measurements are kept fair:

- both servers get the same properties, loopback, and fresh data on the same disk; both stay alive,
  but the benchmark drives one at a time;
- for every row the rounds alternate between the two, and so does the server that goes first: a
  machine that slows down slows both;
- a server is warmed up when it starts, and each row runs once on each server before it counts,
  because the JVM compiles the code that it runs often;
- clients are C or Apache Kafka's own Java, so that the server is the bottleneck, and they check
  the responses;
- a row is the median of its rounds, shown with the least and the most.

=================  =================================================================
``systems``        the two servers as child processes
``usage``          the cost of a process: CPU seconds, resident memory
``programs``       load generators in C and Java, compiled into ``.bench/`` on demand
``members``        a group's members as raw sockets, by either protocol
``share_groups``   share groups that begin at the start of their topics
``measurement``    the definition of a row, and the amount of its work
``rows/``          the rows, one measurement a file
``rounds``         the order of measurements
``results``        medians, ratios, goals
``kept_results``   the results as data, in ``docs/``
``drawing``        shapes and words as SVG
``charts``         the figures of the page
``report``         a table on the terminal, a page in ``docs/``
``peers/``         what users might pick instead, measured with the same clients
``scale/``         the same servers with more and more groups, offsets and members
=================  =================================================================
"""
