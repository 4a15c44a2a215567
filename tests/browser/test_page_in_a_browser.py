"""The dashboard in a real browser: it loads, moves, survives, and can be read and used by all.

Needs playwright (the dev extra) and a chromium: `apt install chromium`. `make test-browser` runs
it; without a browser it is skipped, and says so.
"""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.cli.top.node import CLUSTER
from tests.dashboard.conftest import READ, Served, busy, served  # noqa: F401
from tests.processes.jobs import wait_until

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt install chromium"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
# Pictures for who wants to look: BROWSER_PICTURES=folder make test-browser
PICTURES = os.environ.get("BROWSER_PICTURES")
PATIENCE_S = 20.0


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with playwright.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Tab:
    """A page, and what its console said."""

    def __init__(self, browser: Any, url: str, **options: Any) -> None:
        self.context = browser.new_context(
            **{"viewport": {"width": 1280, "height": 800}, **options}
        )
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE_S * 1000)
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(url)

    def text(self, selector: str) -> str:
        return str(self.page.inner_text(selector))

    def picture(self, name: str) -> None:
        if PICTURES:
            path = Path(PICTURES)
            path.mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=path / f"{name}.png", full_page=True)

    def until(self, expression: str) -> None:
        # Not playwright's own wait: it compiles text in the page, which the page's policy forbids.
        wait_until(lambda: self.page.evaluate(f"() => Boolean({expression})"), PATIENCE_S)

    def close(self) -> None:
        self.context.close()


@pytest.fixture
def tab(chromium: Any, busy: Served) -> Iterator[Tab]:  # noqa: F811
    made = Tab(chromium, busy.url)
    made.until("document.querySelectorAll('#jobs tbody tr').length === 4")
    yield made
    made.close()


def test_it_shows_four_live_jobs_moves_and_says_nothing_in_the_console(
    tab: Tab,
    busy: Served,  # noqa: F811
) -> None:
    assert tab.text("#state") == "live"
    names = tab.page.eval_on_selector_all("#jobs button.name", "all => all.map(b => b.textContent)")
    assert sorted(names) == ["alpha", "beta", "delta", "gamma"]
    assert "%" in tab.text("#saved")
    before = tab.text("#saved-words")
    tab.until(f"document.getElementById('saved-words').textContent !== {before!r}")
    for chart in ("work", "rates", "waits", "shares", "memory"):
        tab.until(f"document.querySelector('#{chart} svg polyline, #{chart} svg polygon')")
    assert len(tab.page.query_selector_all("#flow li")) == 6
    assert len(tab.page.query_selector_all("#tiers tbody tr")) == 2
    assert len(tab.page.query_selector_all("#stages tbody tr")) == 4
    assert tab.page.is_hidden("#nodes-section")
    titles = tab.page.eval_on_selector_all("#jobs thead th", "all => all.map(e => e.textContent)")
    assert titles[-4:] == ["Delivered", "Prepared", "Saved", "Work"]
    assert len(tab.page.query_selector_all("#matrix tbody tr")) == 4
    tab.picture("light")
    assert tab.said == []
    assert all(url.startswith((busy.base, "data:")) for url in tab.asked)


def test_it_survives_a_daemon_that_is_killed_and_started_again(
    tab: Tab,
    busy: Served,  # noqa: F811
) -> None:
    first = tab.text("#who")
    assert busy.node.daemon is not None
    # Jobs would start a daemon of their own.
    for job in busy.node.jobs:
        job.process.kill()
        job.process.wait()
    busy.node.daemon.kill()
    busy.node.daemon.wait()
    tab.until("document.getElementById('state').className === 'gone'")
    assert "Waiting for the next daemon" in tab.text("#state")
    assert tab.text("#who") == first  # what was known stays
    tab.picture("gone")
    busy.node.up()
    tab.until("document.getElementById('state').className === 'live'")
    tab.until(f"document.getElementById('who').textContent.includes('{busy.node.daemon.pid}')")
    busy.node.job(READ, "epsilon", "0.02")
    tab.until("document.querySelector('#jobs button.name')?.textContent === 'epsilon'")


def test_it_is_dark_if_the_system_is(tab: Tab) -> None:
    def paper() -> str:
        return str(tab.page.evaluate("getComputedStyle(document.body).backgroundColor"))

    light = paper()
    tab.page.emulate_media(color_scheme="dark")
    assert paper() != light
    tab.picture("dark")
    assert _contrasts(tab) == []
    tab.page.emulate_media(color_scheme="light")
    assert _contrasts(tab) == []


def test_on_a_phone_nothing_is_wider_than_the_screen(chromium: Any, busy: Served) -> None:  # noqa: F811
    tab = Tab(chromium, busy.url, viewport={"width": 360, "height": 740}, device_scale_factor=2)
    tab.until("document.querySelectorAll('#jobs tbody tr').length === 4")
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= 360
    size = tab.page.evaluate("parseFloat(getComputedStyle(document.body).fontSize)")
    assert size >= 14
    tab.picture("phone")
    tab.close()


def test_it_can_be_used_by_keyboard_and_focus_stays_while_it_moves(tab: Tab) -> None:
    tab.page.keyboard.press("Tab")
    assert tab.page.evaluate("document.activeElement.className") == "skip"
    tab.page.keyboard.press("Tab")
    first = "document.activeElement.dataset.job"
    number = tab.page.evaluate(first)
    tab.page.keyboard.press("Enter")
    tab.until("document.querySelector('#jobs tr.more')")
    assert "Process" in tab.text("#jobs tr.more")
    before = tab.text("#saved-words")
    tab.until(f"document.getElementById('saved-words').textContent !== {before!r}")
    assert tab.page.evaluate(first) == number
    assert tab.page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"
    tab.page.keyboard.press("Enter")
    tab.until("!document.querySelector('#jobs tr.more')")
    tab.page.focus("#range-minutes")
    tab.page.keyboard.press("Space")
    assert tab.page.get_attribute("#range-minutes", "aria-pressed") == "true"
    assert tab.said == []


BASICS = """() => {
  const wrong = [];
  const named = (e) => (e.getAttribute('aria-label') || e.textContent || e.title || '').trim();
  if (!document.documentElement.lang) wrong.push('no language');
  if (!document.title) wrong.push('no title');
  for (const e of document.querySelectorAll('button, a, [role=img]'))
    if (!named(e)) wrong.push('no name: ' + e.outerHTML.slice(0, 80));
  const levels = [...document.querySelectorAll('h1,h2,h3')].map((e) => Number(e.tagName[1]));
  if (levels.filter((l) => l === 1).length !== 1) wrong.push('not one h1');
  levels.forEach((l, at) => { if (at && l > levels[at - 1] + 1) wrong.push('heading skipped'); });
  if (document.querySelectorAll('main').length !== 1) wrong.push('not one main');
  for (const t of document.querySelectorAll('table'))
    if (!t.querySelector('th[scope]')) wrong.push('a table without headers');
  const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
  if (new Set(ids).size !== ids.length) wrong.push('an id twice');
  for (const s of document.querySelectorAll('section'))
    if (!s.getAttribute('aria-label') && !s.getAttribute('aria-labelledby'))
      wrong.push('a section without a name');
  for (const e of document.querySelectorAll('[aria-labelledby]'))
    if (!document.getElementById(e.getAttribute('aria-labelledby')))
      wrong.push('a label that is not there');
  return wrong;
}"""

CONTRASTS = """() => {
  const parse = (c) => c.match(/[\\d.]+/g).map(Number);
  const linear = (v) => (v / 255 <= .03928 ? v / 255 / 12.92 : ((v / 255 + .055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => .2126 * linear(r) + .7152 * linear(g) + .0722 * linear(b);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] > 0.99) return c;
    }
    return [255, 255, 255];
  };
  const low = [];
  for (const e of document.querySelectorAll('body *')) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !e.getClientRects().length || ['SCRIPT', 'STYLE'].includes(e.tagName)) continue;
    const pair = [light(parse(getComputedStyle(e).color)), light(behind(e))];
    const [b, a] = pair.sort((x, y) => x - y);
    if ((a + .05) / (b + .05) < 4.5) low.push(e.tagName + ' ' + e.textContent.slice(0, 40));
  }
  return low;
}"""


def _contrasts(tab: Tab) -> list[str]:
    """Return texts whose contrast is below 4.5, as WCAG AA wants it."""
    found: list[str] = tab.page.evaluate(CONTRASTS)
    return found


def test_the_basics_of_accessibility_hold(tab: Tab) -> None:
    assert tab.page.evaluate(BASICS) == []


def test_names_of_jobs_stay_text(chromium: Any, served: Served) -> None:  # noqa: F811
    evil = "<img src=x onerror=\"document.title='evil'\"><b>bold</b>"
    served.node.job(READ, evil, "0.02")
    wait_until(lambda: served.node.status()["totals"]["delivered"] > 50)
    tab = Tab(chromium, served.url)
    tab.until("document.querySelector('#jobs button.name')")
    assert tab.text("#jobs button.name").startswith(evil)
    assert tab.page.query_selector("main img, main b b") is None
    assert "evil" not in tab.page.title()
    kept = served.get("/summary.html", served.token)[2].decode()
    (served.node.folder / "kept.html").write_text(kept)
    tab.page.goto(f"file://{served.node.folder}/kept.html")
    tab.until("document.querySelector('#jobs button.name')")
    assert tab.text("#jobs button.name").startswith(evil)
    assert tab.text("#state").startswith("as it was at")
    assert "evil" not in tab.page.title()
    tab.picture("kept")
    assert tab.said == []
    tab.close()


def test_nodes_of_a_cluster_have_a_table_and_their_names_stay_text(tab: Tab) -> None:
    told = json.loads(msgspec.json.encode(CLUSTER))
    told["nodes"][2]["name"] = "<b>evil</b>"
    # In one go: the next event takes the table away again.
    rows, markup, saved = tab.page.evaluate(
        """cluster => {
          take({ ...known, node: { ...known.node, cluster } });
          const rows = [...document.querySelectorAll('#nodes tbody tr')];
          const saved = document.querySelector('.hero').textContent.replace(/\\s+/g, ' ');
          const markup = document.querySelector('#nodes b') !== null;
          return [rows.map((row) => row.textContent), markup, saved];
        }""",
        told,
    )
    assert rows[0].startswith("node1linked161,2304,4884,531")
    assert rows[0].endswith("512 MiB of 1.0 GiB")
    assert rows[2].startswith("<b>evil</b>not linked")
    assert not markup
    assert "67% of the work saved on 3 nodes" in saved
    assert "9,000 delivered, only 3,000 prepared." in saved
    tab.picture("nodes")
    assert tab.said == []


def test_a_page_that_stays_open_does_not_grow(tab: Tab) -> None:
    count = "document.getElementsByTagName('*').length"
    before = tab.page.evaluate(count)
    # Hours of events at once; drawn at the end only.
    kept = tab.page.evaluate(
        """() => {
          const draw = show;
          show = () => {};
          const { node, past } = known;
          const last = known.moments[known.moments.length - 1];
          for (let i = 1; i <= 5000; i++) {
            const moments = [{ ...last, time: last.time + i }];
            take({ node, moments, minutes: moments, past });
          }
          show = draw;
          show();
          return [known.moments.length, known.minutes.length];
        }"""
    )
    assert kept == [600, 1440]
    assert tab.page.evaluate(count) <= before + 50
    assert tab.said == []
