"""The dashboard in a real browser: it loads, moves, survives, and can be read and used by all.

Needs playwright (the dev extra) and a chromium: `apt install chromium`. `make test-browser` runs
it; without a browser it is skipped, and says so.
"""

import json
from typing import Any

import msgspec
import pytest

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
    assert tab.text("#jobs button.name").startswith("<img src=x")
    assert tab.page.get_attribute("#jobs button.name", "title") == evil
    assert tab.page.query_selector("main img, main b b") is None
    assert "evil" not in tab.page.title()
    kept = served.get("/summary.html", served.token)[2].decode()
    (served.node.folder / "kept.html").write_text(kept)
    tab.page.goto(f"file://{served.node.folder}/kept.html")
    tab.until("document.querySelector('#jobs button.name')")
    assert tab.text("#jobs button.name").startswith("<img src=x")
    assert tab.page.get_attribute("#jobs button.name", "title") == evil
    assert tab.text("#state").startswith("as it was at")
    assert "evil" not in tab.page.title()
    tab.picture("kept")
    assert tab.said == []
    tab.close()


# Sixteen jobs of a sweep, of which four have ended; what the page is told from now on is left.
MANY = """() => {
  const { node } = known, [one] = node.jobs;
  const job = (id) => ({ ...one, id, name: 'train.py', world_size: 1, row_s: 0.015,
    label: `train.py --arch convnext_tiny --data /data/imagenet --seed ${id}`,
    computing_s: 0.002, storage_s: 0.001, began: node.time - 60, shares_with: [1 + id % 12],
    taken_from: id === 12 ? { 13: 500, 11: 250 } : {} });
  const all = Array.from({ length: 16 }, (_, at) => job(at + 1));
  const moment = (at) => ({ ...known.moments[0], time: node.time - 60 + at,
    jobs: Object.fromEntries(all.filter(({ id }) => id <= 12 || at < 30).map(({ id }) =>
      [id, { samples_per_s: id, waiting: id / 16, worker_share: 1 / 16 }])) });
  take = () => {};
  known.moments = Array.from({ length: 60 }, (_, at) => moment(at));
  known.node = { ...node, jobs: all.slice(0, 12) };
  known.past = all.slice(12).map((job) => ({ ...job, ended: node.time - 30 }));
  show();
}"""


def test_sixteen_jobs_can_be_told_apart(tab: Tab) -> None:
    tab.page.evaluate(MANY)
    # Colors, and beyond eight patterns, too.
    looks = tab.page.eval_on_selector_all(
        "#waits .swatch", "all => all.map(e => e.className + e.style.backgroundColor)"
    )
    assert (len(looks), len(set(looks))) == (16, 16)
    fills = tab.page.eval_on_selector_all(
        "#rates polygon", "all => all.map(e => e.getAttribute('fill'))"
    )
    assert len(set(fills)) == 16
    # Names are cut in the middle, and whole in the title.
    names = tab.page.eval_on_selector_all("#jobs button.name", "all => all.map(e => e.textContent)")
    assert len(set(names)) == 12
    assert all(name.startswith("train.py") and "…" in name for name in names)
    assert names[11].endswith("--seed 12")
    cut = tab.page.eval_on_selector_all(
        "#jobs button.name", "all => all.filter(e => e.scrollWidth > e.clientWidth).length"
    )
    assert cut == 0
    numbers = tab.page.eval_on_selector_all("#jobs .id", "all => all.map(e => e.textContent)")
    assert numbers == [f"#{number}" for number in range(1, 13)]
    tab.picture("sixteen")


def test_jobs_that_have_ended_stay_in_a_table_and_their_curves_stop(tab: Tab) -> None:
    tab.page.evaluate(MANY)
    assert len(tab.page.query_selector_all("#past tbody tr")) == 4
    assert "30\u00a0s ago" in tab.text("#past tbody tr")
    # Legends are of those that read.
    for chart in ("rates", "shares"):
        assert len(tab.page.query_selector_all(f"#{chart} .legend li")) == 12
    ends = tab.page.eval_on_selector_all(
        "#waits polygon",
        "all => all.map(e => Math.max(...e.getAttribute('points').split(' ').map(parseFloat)))",
    )
    assert ends[0] == 600.0
    assert max(ends[12:]) < 310.0
    rows = tab.page.eval_on_selector_all("#waits li b", "all => all.map(e => e.textContent)")
    assert rows[12:] == ["ended"] * 4
    # What was taken from those that ended is in one column.
    heads = tab.page.eval_on_selector_all("#matrix thead th", "all => all.map(e => e.textContent)")
    assert heads[-1] == "others"
    last = tab.page.eval_on_selector_all(
        "#matrix tbody tr:last-child td", "a => a.map(e => e.textContent)"
    )
    assert (last[10], last[-1]) == ("250", "500")
    tab.page.evaluate("known.node = { ...known.node, jobs: [] }, show()")
    assert "No job reads now" in tab.text("#jobs")
    assert len(tab.page.query_selector_all("#matrix tbody tr")) == 4
    assert tab.text("#waits li b") == "ended"
    tab.picture("after-the-end")


def test_waiting_for_a_core_is_what_a_worker_takes_beyond_computing_and_storage(tab: Tab) -> None:
    tab.page.evaluate(MANY)
    cell = "#stages tbody td[data-label='waiting for a core']"
    assert tab.text(cell) == "12.00"
    widths = tab.page.eval_on_selector_all(
        "#stages tbody tr:first-child .track i", "all => all.map(e => parseFloat(e.style.width))"
    )
    assert sum(widths) == pytest.approx(100, abs=0.1)
    assert len(tab.page.query_selector_all("#stages thead .swatch")) == 3


def test_what_is_too_wide_scrolls_and_is_reached_by_keyboard(tab: Tab) -> None:
    tab.page.set_viewport_size({"width": 700, "height": 800})
    tab.page.evaluate(MANY)
    wide = "document.getElementById('matrix')"
    assert tab.page.evaluate(f"{wide}.scrollWidth > {wide}.clientWidth")
    assert tab.page.evaluate(f"[{wide}.tabIndex, {wide}.getAttribute('role')]") == [0, "region"]
    tab.page.focus("#matrix")
    tab.page.keyboard.press("ArrowRight")
    tab.until(f"{wide}.scrollLeft > 0")
    # Not what has room: one more stop on the way through the page.
    assert tab.page.get_attribute("#tiers", "tabindex") is None


def test_before_the_first_job_it_says_how_to_begin(chromium: Any, served: Served) -> None:
    tab = Tab(chromium, served.url)
    tab.until("document.getElementById('state').textContent === 'live'")
    shown = tab.page.eval_on_selector_all(
        "main > *", "all => all.filter(e => e.getClientRects().length).map(e => e.id)"
    )
    assert shown == ["start"]
    assert "from joader import DataLoader" in tab.text("#start")
    assert "joader demo" in tab.text("#start")
    tab.picture("empty")
    served.node.job(READ, "first", "0.02")
    tab.until("document.getElementById('start').hidden && document.querySelector('#jobs button')")
    assert tab.said == []
    tab.close()


def test_a_line_of_the_machine_and_a_sentence_of_diagnosis(tab: Tab) -> None:
    tab.until("!document.getElementById('machine').hidden")
    tab.until("document.getElementById('machine').textContent.includes(' busy')")
    assert "GiB of " in tab.text("#machine")
    tab.page.evaluate(
        """() => {
          const says = 'Jobs wait for a core.', does = 'End what else runs here.';
          const diagnosis = { kind: 'core', says, do: does };
          const jobs = known.node.jobs.map((job) => ({ ...job, diagnosis }));
          take = () => {};
          known.node = { ...known.node, jobs, diagnosis };
          show();
        }"""
    )
    assert tab.text("#verdict") == "Jobs wait for a core. End what else runs here."
    assert tab.page.evaluate("document.querySelector('main > :not([hidden])').id") == "verdict"
    tab.page.click("#jobs button.name")
    assert "Jobs wait for a core. End what else runs here." in tab.text("#jobs tr.more")


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
