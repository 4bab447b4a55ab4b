"""The page of `railctl accept` in a browser, in a network namespace without interfaces; its JUnit before a reader of such files.

The pictures are in build/reports/accept."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from builder import ROOT, run

SAMPLE = ROOT / "build/tests/accept_sample"
PICTURES = ROOT / "build/reports/accept"
POLICY = '<meta http-equiv="Content-Security-Policy"'
FOREIGN = '<img src="http://192.0.2.1/x.png">'
DARK = "--blink-settings=preferredColorScheme=0"


@pytest.fixture(scope="module")
def forms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("forms")
    run([str(SAMPLE), str(folder)])
    return folder


class Browser:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, page: Path, *options: str) -> str:
        """What the browser prints; it is started anew with nothing that it remembers."""
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir()
        return run(["unshare", "--net", "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
                    f"--user-data-dir={self._folder}/profile", *options, page.as_uri()],
                   env={**os.environ, "HOME": str(self._folder)})

    def requests(self, page: Path) -> list[str]:
        """Addresses, other than of files, that the page asked for: what the browser asks on its own has no origin."""
        log = self._folder.parent / "net.json"
        self(page, f"--log-net-log={log}", "--dump-dom")
        found = json.loads(log.read_text())
        begins = found["constants"]["logEventTypes"]["URL_REQUEST_START_JOB"]
        asked = [event["params"] for event in found["events"] if event["type"] == begins and "url" in event.get("params", {})]
        return [each["url"] for each in asked if each["initiator"] != "not an origin" and not each["url"].startswith("file:")]

    def picture(self, page: Path, name: str, *options: str) -> bytes:
        PICTURES.mkdir(parents=True, exist_ok=True)
        file = PICTURES / name
        file.unlink(missing_ok=True)
        self(page, "--window-size=1400,2400", f"--screenshot={file}", *options)
        return file.read_bytes()


@pytest.fixture
def browser(tmp_path: Path) -> Browser:
    if shutil.which("chromium") is None:
        pytest.skip("chromium is not installed")
    assert os.geteuid() == 0, "a network namespace needs root"
    return Browser(tmp_path / "browser")


class Elements(HTMLParser):
    """The names of all elements, and the texts of the headings of checks."""

    def __init__(self, dom: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.headings: list[str] = []
        self._inside = False
        self.feed(dom)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        if tag == "h2":
            self._inside = bool(dict(attrs).get("id"))
            self.headings += [""] if self._inside else []

    def handle_endtag(self, tag: str) -> None:
        self._inside = self._inside and tag != "h2"

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.headings[-1] += data


def test_what_failed_is_on_top_and_names_are_text(forms: Path, browser: Browser) -> None:
    dom = Elements(browser(forms / "page.html", "--dump-dom"))
    assert dom.headings == ["✗ fail isolation.forged-source", '✗ fail isolation.<b>"names"&', "? could-not-measure offload.in-hardware",
                            "✓ pass configuration.mtu", "✓ pass speed.bandwidth"]
    assert {"section", "table", "details"} <= dom.names
    assert not dom.names & {"img", "script", "b", "i", "link"}, "what a pod's author wrote"


def test_the_page_asks_for_nothing(forms: Path, browser: Browser) -> None:
    assert browser.requests(forms / "page.html") == []


def test_the_page_forbids_what_it_does_not_have(forms: Path, browser: Browser, tmp_path: Path) -> None:
    """Were there a way for an element into the page, its policy would stop it; without the policy it is seen to ask."""
    text = (forms / "page.html").read_text().replace("<main>", f"<main>{FOREIGN}")
    page = tmp_path / "foreign.html"
    page.write_text(text)
    assert browser.requests(page) == []
    page.write_text(text.replace(POLICY, "<meta"))
    assert browser.requests(page) == ["http://192.0.2.1/x.png"]


@pytest.mark.parametrize("name", ["page", "mesh"])
def test_a_picture_in_light_and_dark(forms: Path, browser: Browser, name: str) -> None:
    light = browser.picture(forms / f"{name}.html", f"{name}.png")
    dark = browser.picture(forms / f"{name}.html", f"{name}-dark.png", DARK)
    for picture in (light, dark):
        assert picture[:8] == b"\x89PNG\r\n\x1a\n" and struct.unpack(">II", picture[16:24]) == (1400, 2400)
        assert len(picture) > 50_000, "an empty page has a tenth of that"
    assert light != dark


def test_a_reader_of_junit_counts_as_the_report_does(forms: Path, tmp_path: Path) -> None:
    shutil.copy(forms / "junit.xml", tmp_path)
    ran = subprocess.run([sys.executable, "-B", ROOT / "test/report.py", tmp_path, "--name", "accept", "--status", "1"],
                         capture_output=True, text=True, check=True, timeout=120)
    assert ran.stdout.split() == ["2", "2", "1"], "passed, failed, skipped"
    assert "FAILED  isolation.isolation.forged-source: rail0: 40 of 40 datagrams" in ran.stderr
    assert "skipped offload.offload.in-hardware: gpu-3: the driver" in ran.stderr
