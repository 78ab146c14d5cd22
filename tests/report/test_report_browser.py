"""The page in a real browser: quiet console, no request, keyboard, dark mode, narrow screen, print."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess

import pytest
import report_stores as stores

from figures.compared.spec import Compared
from metrics.core.contrast import contrasts
from report_templates.compared import render_comparison
from report_templates.render import render_index, render_report

pytestmark = pytest.mark.browser

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")

#: Without the background flags a closed network sees (and refuses) requests that no page made.
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The three reports, their index and their comparison as files."""
    found = tmp_path_factory.mktemp("report")
    windows = []
    for kind in ("deep", "shallow", "unknown"):
        store = getattr(stores, kind)()
        (found / f"{kind}.html").write_text(render_report(store), encoding="utf-8")
        windows.append((kind, f"{kind}.html", store))
    (found / "index.html").write_text(render_index("Windows", windows), encoding="utf-8")
    side = [Compared(f"{kind}, a name as long as names can be", store, i) for i, (kind, _, store) in enumerate(windows)]
    page = render_comparison("Compared", side, contrasts([store for *_, store in windows]), ["They differ."])
    (found / "compare.html").write_text(page, encoding="utf-8")
    return found


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if not CHROMIUM or not DRIVER:
        pytest.skip(
            "no chromium with chromedriver on this machine (apt-get install chromium chromium-driver)"
        )
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


def _open(browser, path, width=1280, scheme="light"):
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    browser.get(path.as_uri())


@pytest.mark.parametrize("name", ["deep", "shallow", "unknown", "index", "compare"])
def test_no_console_message_and_no_request(browser, folder, name):
    browser.get_log("browser"), browser.get_log("performance")
    _open(browser, folder / f"{name}.html")
    assert browser.get_log("browser") == []
    events = [json.loads(e["message"])["message"] for e in browser.get_log("performance")]
    asked = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
    assert [url for url in asked if not url.startswith(("data:", (folder / f"{name}.html").as_uri()))] == []


def test_tab_reaches_the_skip_link_then_the_numbers_and_the_details(browser, folder):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    _open(browser, folder / "shallow.html")
    seen = []
    for _ in range(120):
        ActionChains(browser).send_keys(Keys.TAB).perform()
        seen.append(
            browser.execute_script(
                "const e = document.activeElement; return [e.tagName, e.className, e.getAttribute('href')]"
            )
        )
        if seen[-1][0] == "SUMMARY":
            break
    assert seen[0] == ["A", "skip", "#main"]
    assert any(tag == "A" and kind == "ref" for tag, kind, _ in seen)
    assert seen[-1][0] == "SUMMARY"
    ActionChains(browser).send_keys(Keys.ENTER).perform()
    assert browser.execute_script("return document.activeElement.parentElement.open")


def test_a_number_leads_to_its_row(browser, folder):
    _open(browser, folder / "deep.html")
    browser.execute_script("document.querySelector('[data-key=\"depth.p50\"]').parentElement.click()")
    assert browser.execute_script("return document.querySelector(':target').innerText").startswith(
        "depth.p50"
    )


@pytest.mark.parametrize("name", ["deep", "unknown", "index", "compare"])
def test_a_narrow_screen_does_not_scroll_sideways(browser, folder, name):
    _open(browser, folder / f"{name}.html", width=400)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 400


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_and_lines_stand_out_from_the_page(browser, folder, scheme):
    """Contrast by WCAG: 4.5 for text, 3 for the lines of a figure."""
    _open(browser, folder / "deep.html", scheme=scheme)
    colours = browser.execute_script(
        "const s = getComputedStyle(document.documentElement);"
        "return Object.fromEntries(['bg','fg','muted','link','ok','bad','c1','c2','c3','c4','c5','c6']"
        ".map(n => [n, s.getPropertyValue('--' + n).trim()]))"
    )
    for name, colour in colours.items():
        if name != "bg":
            assert _contrast(colour, colours["bg"]) >= (3 if name[0] == "c" else 4.5), (name, colour)
    line = browser.execute_script(
        "return getComputedStyle(document.querySelector('svg.fig [style*=\"--c1\"]')).stroke"
    )
    red, green, blue = (int(colours["c1"][i : i + 2], 16) for i in (1, 3, 5))
    assert line == f"rgb({red}, {green}, {blue})"


def _contrast(one, other):
    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("width", [400, 1280])
def test_no_text_of_a_figure_is_cut_off_or_on_another(browser, folder, width):
    """Every text of every figure lies within its picture, and no two of them overlap much."""
    for name in ("deep", "shallow", "compare"):
        _open(browser, folder / f"{name}.html", width=width)
        assert browser.execute_script(_OVERLAPS) == []


_OVERLAPS = """
const found = [];
for (const svg of document.querySelectorAll('svg.fig')) {
  const frame = svg.getBoundingClientRect();
  const boxes = [...svg.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]);
  boxes.forEach(([text, b], i) => {
    if (b.left < frame.left - 1 || b.right > frame.right + 1 ||
        b.top < frame.top - 1 || b.bottom > frame.bottom + 1)
      found.push(`${svg.querySelector('title').textContent}: cut off: ${text}`);
    for (const [other, o] of boxes.slice(i + 1)) {
      const wide = Math.min(b.right, o.right) - Math.max(b.left, o.left);
      const high = Math.min(b.bottom, o.bottom) - Math.max(b.top, o.top);
      if (wide > 2 && high > 0.35 * Math.min(b.height, o.height))
        found.push(`${svg.querySelector('title').textContent}: ${text} on ${other}`);
    }
  });
}
return found;
"""


def test_print_holds_the_text_and_opens_the_tables(browser, folder, tmp_path):
    _open(browser, folder / "deep.html")
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    path = tmp_path / "report.pdf"
    path.write_bytes(base64.b64decode(printed["data"]))
    assert path.read_bytes().startswith(b"%PDF")
    if not shutil.which("pdftotext"):
        pytest.skip("no pdftotext on this machine (apt-get install poppler-utils): text not checked")
    text = subprocess.run(["pdftotext", str(path), "-"], capture_output=True, text=True, check=True).stdout
    assert "Sessions are deep" in text
    assert "calls per session" in text  # in a figure
    assert "reconstruction_rate" in text  # in a table that is closed on the screen
    assert "Definitions and limits" in text
