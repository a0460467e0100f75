"""The documentation as `make docs` builds it: from its folder, or from a server, without any network."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests import ROOT
from tests.report import browser as driving
from tests.report.browser import Browser, chromium

pytest.importorskip("material", reason="mkdocs-material is not installed (pip install '.[docs]')")
pytestmark = pytest.mark.skipif(bool(driving.missing()), reason=driving.missing())

FOUND = """return new Promise((resolve) => {
    const box = document.querySelector("[data-md-component=search-query]"), end = Date.now() + 20000;
    box.focus();
    box.value = arguments[0];
    box.dispatchEvent(new KeyboardEvent("keyup", { bubbles: true }));
    const look = () => {
        const links = [...document.querySelectorAll(".md-search-result__item > a")].map((link) => link.href);
        return links.length || Date.now() > end ? resolve(links) : setTimeout(look, 50);
    };
    look();
})"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs") / "a site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, timeout=300)
    return folder


@pytest.fixture
def offline(tmp_path: Path) -> Iterator[Browser]:
    with chromium(tmp_path) as browser:
        off = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        browser.command("Network.emulateNetworkConditions", offline=True, **off)
        browser.resize(1280)
        yield browser


def test_no_page_asks_for_anything_outside_its_folder(site: Path, offline: Browser) -> None:
    # 404.html is for servers: it names its parts from their root.
    pages = sorted(page for page in site.glob("*.html") if page.name != "404.html")
    assert len(pages) > 15
    for page in pages:
        offline.open(page)
        offline.run("return new Promise((resolve) => setTimeout(resolve, 50))")
        asked = {address for address in offline.requests() if not address.startswith("data:")}
        assert asked > {page.as_uri()}
        assert [address for address in asked if not address.startswith(f"{site.as_uri()}/")] == []
        assert [told for told in offline.console() if "favicon" not in str(told)] == []


def test_search_finds_a_page_that_was_opened_from_its_folder(site: Path, offline: Browser) -> None:
    offline.open(site / "index.html")
    links = offline.run(FOUND, "ECDFs")
    assert any(link.startswith((site / "campaigns.html").as_uri()) for link in links)
    offline.click(".md-search-result__item > a[href*='campaigns.html']")
    offline.arrive()
    assert offline.run("return location.pathname").endswith("/campaigns.html")
    assert any(link.startswith((site / "proofs.html").as_uri()) for link in offline.run(FOUND, "certify"))


def test_search_works_on_a_server_too(site: Path, tmp_path: Path) -> None:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        home = f"http://127.0.0.1:{server.server_address[1]}/"
        with chromium(tmp_path) as browser:
            browser.visit(f"{home}index.html")
            links = browser.run(FOUND, "ECDFs")
            asked = browser.requests()
        server.shutdown()
    assert any(link.startswith(f"{home}campaigns.html") for link in links)
    assert [address for address in asked if not address.startswith((home, "data:"))] == []
