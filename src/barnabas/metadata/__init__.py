"""The metadata of the cluster: images, and the path from the metadata log to them.

Nouns: a *record* of the metadata log describes one change. An *image* is the whole metadata at one
offset, immutable. A *delta* collects the changes from one image to the next. A *publisher* acts on
a delta, such as opening logs for new partitions. A *snapshot* is an image on disk. *Provenance* is
the offset, epoch and time of the last record in an image.

Read in this order: :mod:`.metadata_image` and :mod:`.metadata_delta`, then any part of them, such
as :mod:`.topics` or :mod:`.cluster`, which all have the same shape (Image and Delta over a
:mod:`.draft`); :mod:`.loader` (batches to images), :mod:`.applier` (images to publishers), and
:mod:`.snapshot`. :mod:`.effective_configs` computes the values of settings from all sources.

Invariants:

- an image never changes; readers may keep it as long as they like;
- replaying ``image.records()`` gives an equal image;
- records apply once and in the order of the log, and the records of a metadata transaction apply
  together;
- request handlers see an image only after all publishers have acted on it.

Not here: decisions about metadata (:mod:`barnabas.controller`), and the log and its quorum
(:mod:`barnabas.quorum`). Only :mod:`.applier` knows an event loop.
"""
