"""``barnabas mirror``: :mod:`~.command` has the options, :mod:`~.view` the display.

The mirror itself is :mod:`barnabas.pipelines.mirror`.
"""
