"""Journal: what the processes of a gateway log, on the standard error, each with its number."""

from __future__ import annotations

import logging

FORM = "%(asctime)s headgate[%(process)d] %(levelname)s %(message)s"


def keep(quiet: bool, slot: int = 0) -> None:
    """Log from now on; only warnings and worse if it is to be quiet.

    All workers find the same new rules, and the one in the first slot tells of it.
    """
    logging.basicConfig(format=FORM, level=logging.WARNING if quiet else logging.INFO)
    if slot:
        logging.getLogger("headgate").addFilter(lambda record: record.module != "watcher")
