"""The command line: `dse COMMAND`. Each module of `dse.cli.commands` is one command."""

from __future__ import annotations

import codecs
import io
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import typer
from typer.exceptions import TyperException

from dse.cli.application import build_application
from dse.cli.waiting_view import compiling_said
from dse.support.errors import InputError, format_exception, one_line, show_notices_in_a_line
from dse.support.interrupts import ignore_interrupts

DONE, FAILED, WRONG_INPUT, INTERRUPTED, READER_LEFT = 0, 1, 2, 130, 141
LACKING = "dse-nearest"
NEAREST = (
    {"\N{MICRO SIGN}": "u"}
    | dict.fromkeys("\u2588\u2589\u258a\u258b\u258c", "#")
    | dict.fromkeys("\u258d\u258e\u258f", " ")
)
"""For letters of ours that an encoding may lack (prefixes, bars of blocks), what says the same."""
MAX_LETTERS = 2000
"""Of a message: arguments, paths and names in it may be as long as anybody likes."""
ALIKE = 0.75
"""How like an option must be, from 0 to 1, to be asked after instead of one that is not known."""
INSTEAD = {
    ("dse codesign", "--accelerator"): "--hardware names the space that machines are of",
    ("dse codesign", "--layer"): "--network takes one layer too, as vgg16:conv1_2",
    ("dse codesign", "--limit"): "--area and --leakage limit machines, --max-latency and --max-power runs",
    ("dse codesign", "--tiles"): "mappings have perfect factors there, and no option gives others",
}
"""For options that a command lacks and others have, what does their job there."""
COMPLETE = "_DSE_COMPLETE"
"""The variable by which a shell asks for completion."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command that `argv` (or the process's arguments) asks for; return its exit code.

    0 done, 1 a search or cell failed, 2 the input was wrong: one line on stderr, never a traceback.
    """
    _open_streams()
    arguments = list(sys.argv[1:] if argv is None else argv) or ["--help"]
    try:
        app = build_application()
        if COMPLETE in os.environ:
            from dse.cli.options import answer_shell

            answer_shell(app)
        # Not through typer's own main, which prints errors its way and makes a reader that left a failure.
        with (
            app.make_context("dse", arguments) as context,
            _exits_refused(),
            _warnings_in_a_line(),
            compiling_said(),
        ):
            app.invoke(context)
        sys.stdout.flush()
        return DONE
    except typer.Exit as end:
        return end.exit_code
    except InputError as error:
        return _refuse(str(error))
    except TyperException as error:
        return _refuse(_usage_message(error))
    except (KeyboardInterrupt, typer.Abort):
        if argv is None:
            # The process is ending: a further Ctrl-C would only have it say so at length.
            ignore_interrupts()
        return INTERRUPTED
    except BrokenPipeError:
        _discard_output()
        return READER_LEFT
    except OSError as error:
        # Commands name the files that they cannot read; what gets here is a full disk and the like.
        _discard_output()
        return _refuse(str(error), FAILED)


@contextmanager
def _exits_refused() -> Iterator[None]:
    """A plug-in, or a user's module, that calls `sys.exit(0)` must not end a command as if all were done."""
    try:
        yield
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # rich, which prints help, ends in its own way
            raise end.__context__ from None
        raise InputError(f"code that is not dse's own has ended it: {format_exception(end)}") from end


def _refuse(message: str, code: int = WRONG_INPUT) -> int:
    said = one_line(message[:MAX_LETTERS]) + "..." * (len(message) > MAX_LETTERS)
    with suppress(OSError, ValueError):
        print("dse: error:", said, file=sys.stderr, flush=True)
    return code


@contextmanager
def _warnings_in_a_line() -> Iterator[None]:
    """Our own warnings are lines like others on stderr: where in the code they are raised tells nothing."""
    with warnings.catch_warnings():
        show_notices_in_a_line()
        yield


def _open_streams() -> None:
    """See that stdout and stderr lead somewhere: no file is to take the place of one that was closed."""
    for number, name in ((0, "stdin"), (1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:
            try:
                os.fstat(number)
            except OSError:
                opened = os.open(os.devnull, os.O_RDWR)
                if opened != number:
                    os.dup2(opened, number, inheritable=True)
                    os.close(opened)
            setattr(sys, name, open(os.devnull, "r" if number == 0 else "w"))  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        codecs.register_error(LACKING, _nearest)
        sys.stdout.reconfigure(errors=LACKING)


def _nearest(error: UnicodeError) -> tuple[str, int]:
    """What to print for letters that the locale's encoding lacks."""
    assert isinstance(error, UnicodeEncodeError)
    lacking = error.object[error.start : error.end]
    return "".join(NEAREST.get(letter, "?") for letter in lacking), error.end


def _usage_message(error: TyperException) -> str:
    """The parser's complaint in the words of our own messages: what is wrong and what would be right."""
    message = error.format_message()
    context = getattr(error, "ctx", None)
    help_hint = f"see '{context.command_path} --help'" if context else ""
    option, near = getattr(error, "option_name", None), getattr(error, "possibilities", None)
    if near is not None:
        from difflib import get_close_matches

        like = get_close_matches(option or "", near, n=1, cutoff=ALIKE)
        there = INSTEAD.get((context.command_path if context else "", option or ""))
        hint = there or (f"did you mean {like[0]!r}?" if like else help_hint)
        message = f"unknown option {option!r}; {hint}"
    elif "Did you mean" not in message and help_hint:
        message = f"{message.rstrip('.')}; {help_hint}"
    message = message.rstrip(".")
    return message[:1].lower() + message[1:]


def _discard_output() -> None:
    """Point stdout at nothing, so that the interpreter's own flush at exit stays quiet."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
