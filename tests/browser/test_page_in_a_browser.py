"""The dashboard in a real browser: it loads, moves, survives, and can be read and used by all.

Needs playwright (the dev extra) and a chromium: `apt install chromium`. `make test-browser` runs
it; without a browser it is skipped, and says so.
"""

import json
from typing import Any

import msgspec

from tests.browser.tab import NEEDS_A_BROWSER, Tab
from tests.cli.top.node import CLUSTER
from tests.dashboard.conftest import READ, Served
from tests.processes.jobs import wait_until

pytestmark = NEEDS_A_BROWSER


def test_it_shows_four_live_jobs_moves_and_says_nothing_in_the_console(
    tab: Tab,
    busy: Served,
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


def test_its_first_sentence_says_what_is_saved_in_the_daemons_own_figures(
    chromium: Any, served: Served
) -> None:
    served.node.job(READ, "alone", "0.02")
    tab = Tab(chromium, served.url)
    tab.until("document.getElementById('saved-words').textContent.includes('none saved yet')")
    assert "another job that reads the same data gets them for free" in tab.text("#saved-words")
    for name in ("second", "third"):
        served.node.job(READ, name, "0.02")
    tab.until("known.node.totals.saved > 0.01")
    # Both in one go: the next event changes them together.
    words, totals, first = tab.page.evaluate(
        """() => [document.getElementById('saved-words').textContent, known.node.totals,
          document.querySelector('main p').id]"""
    )
    assert first == "saved-words"
    said = f"Jobs got {totals['delivered']:,} samples, and only {totals['prepared']:,} had to be "
    assert words.startswith(said + "prepared.")
    # Of CPU time it speaks when there is a second of it.
    hours = tab.page.evaluate("sentence({ ...known.node.totals, saved_cpu_s: 11160 }, '')")
    assert hours.endswith(" That saved 3\u00a0h\u00a06\u00a0min of CPU time.")
    assert tab.said == []
    tab.close()


def test_it_survives_a_daemon_that_is_killed_and_started_again(
    tab: Tab,
    busy: Served,
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
    # What another daemon saved is not said of this one.
    assert tab.text("#saved-words") == "Waiting for the first samples."
    assert tab.page.is_hidden("#saved-part")
    assert tab.page.title() == "joader"
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


def test_names_of_jobs_stay_text(chromium: Any, served: Served) -> None:
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
    assert "67% of the work saved" in saved
    assert "Jobs on 3 nodes got 9,000 samples, and only 3,000 had to be prepared." in saved
    tab.picture("nodes")
    assert tab.said == []


def test_a_page_that_nobody_sees_draws_nothing_until_it_is_seen_again(tab: Tab) -> None:
    seen = "Object.defineProperty(document, 'hidden', {{ get: () => {}, configurable: true }})"
    tab.page.evaluate(f"() => {seen.format('true')}")
    drawn = tab.page.evaluate_handle("document.querySelector('#jobs table')")
    tab.page.evaluate("() => { window.came = known.node.time }")
    tab.until("known.node.time > window.came + 1.5")
    assert tab.page.evaluate("drawn => drawn.isConnected", drawn)
    # Its title, which a tab shows all the same.
    assert tab.page.evaluate("document.title.startsWith(percent(known.node.totals.saved))")
    tab.page.evaluate(f"() => {seen.format('false')}")
    tab.page.evaluate("() => document.dispatchEvent(new Event('visibilitychange'))")
    assert not tab.page.evaluate("drawn => drawn.isConnected", drawn)
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
