"""What learners refuse, in the framework's terms: `learners` knows no `dse`, and has an error of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dse.support.errors import InputError
from learners.errors import InputError as Refused


@contextmanager
def refusals_as_input_errors() -> Iterator[None]:
    """Within, what a learner refuses is an InputError of the framework's, with the same message."""
    try:
        yield
    except Refused as error:
        raise InputError(str(error)) from error
