"""What is raised where a schedule cannot be run as it is printed."""

from __future__ import annotations

from dse.support.errors import InputError


class RefusedError(InputError):
    """A schedule cannot be run as it is printed; the message says where, and what is wrong."""
