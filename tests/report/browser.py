"""Headless Chromium, driven by its own protocol (DevTools) over a pipe, with the standard library alone."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
    "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip
ANSWER_SECONDS, PATIENCE_SECONDS = 60.0, 20
ENTER, SPACE, RIGHT = ("Enter", 13, "\r"), (" ", 32, " "), ("ArrowRight", 39, "")
"""Keys: what a page calls them, their number, and the text that they write."""

# The browser reads commands from its file 3 and answers on 4: moved up first, neither is in the other's way.
LAUNCH = """
import fcntl, os, sys
pipes = [fcntl.fcntl(int(pipe), fcntl.F_DUPFD, 10) for pipe in sys.argv[1:3]]
for pipe, place in zip(pipes, (3, 4)):
    os.dup2(pipe, place)
os.execv(sys.argv[3], sys.argv[3:])
"""
FIND = "const found = document.querySelector(arguments[0]); if (!found) throw `no ${arguments[0]}`;"


def missing() -> str:
    """Why there is no browser to test in; empty where there is one."""
    if not any(map(shutil.which, CHROMIUMS)):
        return "no Chromium is installed (apt-get install chromium)"
    return ""


class Browser:
    """One browser window."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands, self._answers = commands, answers
        self._count, self._left, self._session = 0, b"", ""
        self._events: list[dict[str, Any]] = []
        target = self.command("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.command("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.command(f"{domain}.enable")

    def open(self, page: Path) -> None:
        """Load a file."""
        self.visit(page.resolve().as_uri())

    def begin(self, page: Path, width: int = 1280, height: int = 900) -> None:
        """Load a file in a light window of that size; what was opened and kept before is not."""
        self.resize(width, height)
        self.prefer("light")
        self.open(page)
        # What is kept as this page is left is not kept.
        self.run("addEventListener('pagehide', () => sessionStorage.clear())")
        self.open(page)
        self.console(), self.requests()

    def visit(self, address: str) -> None:
        """Load a page."""
        self.command("Page.navigate", url=address)
        self.arrive()

    def arrive(self) -> None:
        """Wait until the page that was asked for is loaded."""
        while not any(event["method"] == "Page.loadEventFired" for event in self._events):
            self._read()
        self._events = [event for event in self._events if event["method"] != "Page.loadEventFired"]

    def run(self, script: str, *arguments: Any) -> Any:
        """The value that a function's body in JavaScript returns; a promise is waited for."""
        expression = f"(function () {{ {script} }}).apply(null, {json.dumps(arguments)})"
        found = self.command(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True, userGesture=True
        )
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"])
        return found["result"].get("value")

    def unfold(self, selector: str = "details") -> None:
        """Open all `details` that elements are in, and that they are."""
        self.run(
            """for (const found of document.querySelectorAll(arguments[0])) {
                for (let part = found.closest("details"); part; part = part.parentElement.closest("details"))
                    part.open = true;
            }""",
            selector,
        )

    def wait_until(self, script: str) -> None:
        """Wait until a function's body returns true."""
        waiting = f"""return new Promise((resolve) => {{
            const test = () => {{ {script} }}, end = Date.now() + {1000 * PATIENCE_SECONDS};
            const look = () => test() || Date.now() > end ? resolve(test()) : setTimeout(look, 10);
            look();
        }})"""
        assert self.run(waiting) is True, script

    def wait_for(self, selector: str, text: str) -> None:
        """Wait until an element says so."""
        self.wait_until(
            f"return document.querySelector({json.dumps(selector)}).innerText === {json.dumps(text)}"
        )

    def click(self, selector: str) -> None:
        """Click the first element that a CSS selector finds, as a mouse does."""
        self.hover(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self._mouse(kind, *self._at, button="left", clickCount=1)

    def hover(self, selector: str, across: float = 0.5, down: float = 0.5) -> None:
        """Move the mouse to a place in an element, in shares of its size, and see that it is not covered.

        An element that moves, or is drawn anew at another size, is waited for.
        """
        place = f"""{FIND}
            const inside = () => {{
                const box = found.getBoundingClientRect();
                return [box.x + arguments[1] * box.width, box.y + arguments[2] * box.height];
            }};
            const seen = ([x, y]) => found.contains(document.elementFromPoint(x, y));
            if (!seen(inside())) found.scrollIntoView({{ block: "center", behavior: "instant" }});
            if (!seen(inside())) throw `${{arguments[0]}} is covered`;
            return inside();"""
        before, self._at = None, self.run(place, selector, across, down)
        while before != self._at:
            time.sleep(0.05)
            before, self._at = self._at, self.run(place, selector, across, down)
        self._mouse("mouseMoved", *self._at)

    def press(self, selector: str, key: tuple[str, int, str]) -> None:
        """Focus an element and press a key."""
        self.run(f"{FIND} found.focus({{ focusVisible: true }})", selector)
        name, number, text = key
        pressed = {"key": name, "windowsVirtualKeyCode": number}
        self.command("Input.dispatchKeyEvent", type="keyDown", text=text, **pressed)
        self.command("Input.dispatchKeyEvent", type="keyUp", **pressed)

    def command(self, name: str, **parameters: Any) -> Any:
        """A command of the DevTools protocol."""
        self._count += 1
        message: dict[str, Any] = {"id": self._count, "method": name, "params": parameters}
        if self._session and not name.startswith("Browser."):
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while (answer := self._read()).get("id") != self._count:
            pass
        if "error" in answer:
            raise RuntimeError(answer["error"]["message"])
        return answer["result"]

    def resize(self, width: int, height: int = 900) -> None:
        """Give the window that many CSS pixels."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.command("Emulation.setDeviceMetricsOverride", **size)

    def prefer(self, scheme: str) -> None:
        """Ask pages for the colour scheme light or dark."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.command("Emulation.setEmulatedMedia", features=features)

    def console(self) -> list[dict[str, Any]]:
        """What the page has logged since the last call, errors of every kind included."""
        return self._told("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")

    def requests(self) -> list[str]:
        """The addresses that pages have asked for since the last call."""
        return [str(told["request"]["url"]) for told in self._told("Network.requestWillBeSent")]

    def picture(self, path: Path) -> None:
        """Save what the window shows as a PNG."""
        shot = self.command("Page.captureScreenshot")
        path.write_bytes(base64.b64decode(shot["data"]))

    def _mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        self.command("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def _told(self, *names: str) -> list[dict[str, Any]]:
        """The events of these names since they were last asked for."""
        self.run("return 0")  # What came before the answer has been read.
        told = [event["params"] for event in self._events if event["method"] in names]
        self._events = [event for event in self._events if event["method"] not in names]
        return told

    def _read(self) -> dict[str, Any]:
        """The next message; an event is kept too."""
        deadline = time.monotonic() + ANSWER_SECONDS
        while b"\0" not in self._left:
            ready, _, _ = select.select([self._answers], [], [], max(0.0, deadline - time.monotonic()))
            part = os.read(self._answers, 1 << 20) if ready else b""
            if not part:
                raise RuntimeError("Chromium has ended" if ready else "Chromium does not answer")
            self._left += part
        whole, _, self._left = self._left.partition(b"\0")
        message: dict[str, Any] = json.loads(whole)
        if "method" in message:
            self._events.append(message)
        return message


@contextmanager
def chromium(folder: Path) -> Iterator[Browser]:
    """A browser that keeps its profile in `folder`, and ends with the block."""
    binary = next(path for path in map(shutil.which, CHROMIUMS) if path)
    (its_commands, commands), (answers, its_answers) = os.pipe(), os.pipe()
    pipes = its_commands, its_answers
    process = subprocess.Popen(
        [sys.executable, "-c", LAUNCH, *map(str, pipes), binary, *FLAGS, f"--user-data-dir={folder}/profile"],
        pass_fds=pipes, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={**os.environ, "HOME": str(folder), "TMPDIR": str(folder)},
    )  # fmt: skip
    for pipe in pipes:
        os.close(pipe)
    try:
        yield Browser(commands, answers)
    finally:
        process.terminate()
        process.wait(ANSWER_SECONDS)
        os.close(commands)
        os.close(answers)
