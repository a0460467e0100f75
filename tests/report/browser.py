"""Headless Chromium, driven over the WebDriver protocol with nothing but the standard library."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, Request, build_opener

CHROMIUMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
    "--hide-scrollbars",
)  # fmt: skip
START_SECONDS = 60.0
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
"""The key under which the protocol wraps an element's id."""
ENTER, SPACE = "\ue007", " "

# Only this machine is asked, whatever proxy the environment names.
_OPENER = build_opener(ProxyHandler({}))


def missing() -> str:
    """Why there is no browser to test in; empty where there is one."""
    if not any(map(shutil.which, CHROMIUMS)):
        return "no Chromium is installed (apt-get install chromium chromium-driver)"
    if not shutil.which("chromedriver"):
        return "Chromium is installed without chromedriver (apt-get install chromium-driver)"
    return ""


class Browser:
    """One browser window."""

    def __init__(self, address: str, folder: Path) -> None:
        self._address = address
        binary = next(path for path in map(shutil.which, CHROMIUMS) if path)
        options = {"binary": binary, "args": [*FLAGS, f"--user-data-dir={folder}"]}
        wanted = {
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        session = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self._address = f"{address}/session/{session['sessionId']}"

    def open(self, page: Path) -> None:
        """Load a file."""
        self._ask("POST", "/url", {"url": page.resolve().as_uri()})

    def run(self, script: str, *arguments: Any) -> Any:
        """The value that a function's body in JavaScript returns; a promise is waited for."""
        return self._ask("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def find(self, selector: str) -> str:
        """The first element that a CSS selector finds."""
        found = self._ask("POST", "/element", {"using": "css selector", "value": selector})
        return str(found[ELEMENT])

    def click(self, selector: str) -> None:
        """Click an element as a mouse does."""
        self._ask("POST", f"/element/{self.find(selector)}/click", {})

    def press(self, selector: str, key: str) -> None:
        """Focus an element and press a key."""
        self._ask("POST", f"/element/{self.find(selector)}/value", {"text": key})

    def command(self, name: str, **parameters: Any) -> Any:
        """A command of the Chrome DevTools protocol."""
        return self._ask("POST", "/goog/cdp/execute", {"cmd": name, "params": parameters})

    def resize(self, width: int, height: int = 900) -> None:
        """Give the window that many CSS pixels."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.command("Emulation.setDeviceMetricsOverride", **size)

    def prefer(self, scheme: str) -> None:
        """Ask pages for the colour scheme light or dark."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.command("Emulation.setEmulatedMedia", features=features)

    def console(self) -> list[str]:
        """What the page has logged since the last call, errors of every kind included."""
        found = self._ask("POST", "/se/log", {"type": "browser"})
        return [f"{entry['level']}: {entry['message']}" for entry in found]

    def requests(self) -> list[str]:
        """The addresses that pages have asked for since the last call."""
        found = self._ask("POST", "/se/log", {"type": "performance"})
        messages = [json.loads(entry["message"])["message"] for entry in found]
        return [
            str(message["params"]["request"]["url"])
            for message in messages
            if message["method"] == "Network.requestWillBeSent"
        ]

    def picture(self, path: Path) -> None:
        """Save the whole page as a PNG."""
        shot = self.command("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def close(self) -> None:
        """End the session, and the browser with it."""
        self._ask("DELETE", "", None)

    def _ask(self, method: str, path: str, body: Any) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = Request(self._address + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with _OPENER.open(request, timeout=START_SECONDS) as answer:
                return json.load(answer)["value"]
        except HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"]) from None


@contextmanager
def chromium(folder: Path) -> Iterator[Browser]:
    """A browser that keeps its profile in `folder`, and ends with the block."""
    log = folder / "driver.log"
    with log.open("wb") as out:
        command = ["chromedriver", "--port=0"]
        driver = subprocess.Popen(
            command, stdout=out, stderr=out, env={**os.environ, "HOME": str(folder), "TMPDIR": str(folder)}
        )
    try:
        browser = Browser(f"http://127.0.0.1:{_port(log, driver)}", folder / "profile")
        try:
            yield browser
        finally:
            browser.close()
    finally:
        driver.terminate()
        driver.wait(START_SECONDS)


def _port(log: Path, driver: subprocess.Popen[bytes]) -> int:
    """The port that the driver has chosen and says in its log."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and driver.poll() is None:
        said = re.search(r"successfully on port (\d+)", log.read_text(errors="replace"))
        if said:
            return int(said[1])
        time.sleep(0.05)
    raise URLError(f"chromedriver did not start: {log.read_text(errors='replace')}")
