"""Programs that price: kept running and asked line by line, or run once a mapping; with time-outs either way.

They run in sessions of their own, so that Ctrl-C leaves them to us, and nothing that they start outlives
them.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import IO, TypeVar

from dse.core.reasons import Reason
from dse.models.outside.answers import Refusal, garbled_answer
from dse.support.errors import InputError, one_line, shorten

MAX_BYTES = 1 << 20
"""Of one line that is said."""
LAST_WORDS = 400
"""Letters of what a program said on stderr before it died."""

Item = TypeVar("Item")
Result = TypeVar("Result")


def find_program(name: str, where: str) -> str:
    """The program's path; InputError if there is none that can be run."""
    found = shutil.which(name)
    if found is None:
        state = "cannot be run; make it executable" if os.path.isfile(name) else "is not there"
        raise InputError(f"{where}: program {shorten(name)} {state}")
    return os.path.abspath(found)


def ask_each(
    ask: Callable[[Item], Result], items: Sequence[Item], at_once: int
) -> Iterator[tuple[int, Result]]:
    """`ask` of each item, `at_once` at the same time: the results with their places, as they come."""
    if at_once == 1 or len(items) == 1:
        yield from ((place, ask(item)) for place, item in enumerate(items))
        return
    with ThreadPoolExecutor(at_once) as pool:
        places = {pool.submit(ask, item): place for place, item in enumerate(items)}
        try:
            for done in as_completed(places):
                yield places[done], done.result()
        finally:
            for future in places:
                future.cancel()


def run_once(command: Sequence[str], folder: Path, seconds: float) -> Refusal | None:
    """Run a program in a folder to its end; why that is nothing to go by, or None."""
    with (folder / "stderr").open("wb+") as said:
        try:
            process = _start(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        except OSError as error:
            return Refusal(Reason.CRASHED, str(error.strerror))
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            return Refusal(Reason.TIMED_OUT, f"not done after {seconds:g} s")
        finally:
            _end(process)
        if code == 0:
            return None
        said.seek(max(0, said.tell() - LAST_WORDS))
        return Refusal(Reason.CRASHED, _ended(code, said.read()))


class LineProcess:
    """A program that answers every line with a line; started when first asked, and again if it fails."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = list(command)
        self._process: subprocess.Popen[bytes] | None = None
        self._stderr: deque[bytes] = deque(maxlen=4)
        self._read = b""

    def ask(self, line: str, seconds: float) -> str | Refusal:
        """What is said to `line`, without its end; or why there is nothing, and the program is ended."""
        try:
            said = self._ask(line, seconds)
        except BaseException:
            # Ctrl-C, say: what it would answer now would be taken for the next answer.
            self.close()
            raise
        if isinstance(said, Refusal):
            self.close()
        return said

    def close(self) -> None:
        """End the program, and what it has started."""
        process, self._process, self._read = self._process, None, b""
        if process is not None:
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    assert pipe is not None
                    pipe.close()
            _end(process)

    def _ask(self, line: str, seconds: float) -> str | Refusal:
        try:
            process = self._running()
            stdin, stdout = process.stdin, process.stdout
            assert stdin is not None
            assert stdout is not None
            stdin.write(line.encode() + b"\n")
            stdin.flush()
        except OSError as error:
            return self._died(error)
        deadline = time.monotonic() + seconds
        while b"\n" not in self._read:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([stdout], [], [], left)[0]:
                return Refusal(Reason.TIMED_OUT, f"no answer after {seconds:g} s")
            more = os.read(stdout.fileno(), 1 << 16)
            if not more:
                return self._died()
            self._read += more
            if len(self._read) > MAX_BYTES:
                return garbled_answer(f"a line of more than {MAX_BYTES:,} bytes")
        said, _, self._read = self._read.partition(b"\n")
        if self._read:
            # It is ahead of what it was asked: whose answers these are is not known.
            return garbled_answer("more than one line for one mapping")
        return said.decode("utf-8", errors="replace")

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            pipe = subprocess.PIPE
            self._process = _start(self._command, stdin=pipe, stdout=pipe, stderr=pipe)
            self._stderr.clear()
            threading.Thread(target=self._listen, args=(self._process.stderr,), daemon=True).start()
        return self._process

    def _listen(self, stderr: IO[bytes]) -> None:
        """Keep the last of what is said on stderr, so that it never fills the pipe."""
        with contextlib.suppress(OSError, ValueError), stderr:
            while piece := os.read(stderr.fileno(), 1 << 12):
                self._stderr.append(piece)

    def _died(self, error: OSError | None = None) -> Refusal:
        process = self._process
        if process is None:
            return Refusal(Reason.CRASHED, str(error.strerror) if error else "")
        try:
            code = process.wait(1.0)
        except subprocess.TimeoutExpired:
            return Refusal(Reason.CRASHED, "it closed its output")
        time.sleep(0.01)
        said = b"".join(self._stderr)
        text = _ended(code, said)
        # Said of each mapping it is the fault of the program. A signal says nothing of whose fault it is.
        return Refusal(Reason.CRASHED, text, fault=text if said.strip() and code >= 0 else "", shown=text)


def _start(
    command: Sequence[str],
    *,
    stdin: int,
    stdout: int | IO[bytes],
    stderr: int | IO[bytes],
    cwd: Path | None = None,
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command, stdin=stdin, stdout=stdout, stderr=stderr, cwd=cwd, start_new_session=True
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _ended(code: int, said: bytes) -> str:
    """How a program ended, with its last words."""
    how = f"ended with code {code}" if code >= 0 else f"ended by signal {-code}"
    words = one_line(said.decode("utf-8", errors="replace"))[-LAST_WORDS:]
    return f"{how}: {words}" if words else how
