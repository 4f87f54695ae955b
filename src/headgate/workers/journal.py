"""Journal: what the processes of a gateway log, on the standard error, each with its number."""

from __future__ import annotations

import logging

from headgate.telemetry.journal import Lines, escaped

FORM = "%(asctime)s headgate[%(process)d] %(levelname)s %(message)s"
AUDIT = "headgate.audit"
# How lines may look: for people, or for machines.
FORMS = ("console", "json")


class Form(logging.Formatter):
    """What stands before a line: nothing where it is JSON, and has its own time."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        bare = record.name == AUDIT and record.levelno == logging.INFO
        return record.getMessage() if bare else escaped(super().format(record))


def keep(quiet: bool, slot: int = 0, form: str = "console") -> None:
    """Log from now on; of what is well only who was refused, if it is to be quiet.

    All workers find the same new rules, and the one in the first slot tells of it.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(Lines() if form == "json" else Form(FORM))
    logging.basicConfig(handlers=[handler], level=logging.WARNING if quiet else logging.INFO)
    # The answer names a decision that is to be found here.
    logging.getLogger(AUDIT).setLevel(logging.INFO)
    if slot:
        logging.getLogger("headgate").addFilter(lambda record: record.module != "watcher")
