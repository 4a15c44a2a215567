"""The dashboard on a phone: nothing is cut off, and a finger finds what it is to press."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.tab import NEEDS_A_BROWSER, Tab
from tests.dashboard.conftest import Served

pytestmark = NEEDS_A_BROWSER

# What ends right of the screen: nobody would know that it can be scrolled to.
CUT_OFF = """() => [...document.querySelectorAll('body *')].filter((e) => {
  const box = e.getBoundingClientRect();
  return box.width && box.height && box.right > innerWidth + 1;
}).map((e) => e.outerHTML.slice(0, 120))"""
# Text that is wider than what it is in and is neither shown nor shortened with dots.
PLACES = "main td, main th, .tile, .hero p, .split span, .flow li"
CROWDED = f"""() => [...document.querySelectorAll('{PLACES}')]
  .filter((e) => e.getClientRects().length && e.scrollWidth > e.clientWidth + 1)
  .filter((e) => getComputedStyle(e).textOverflow !== 'ellipsis')
  .map((e) => e.outerHTML.slice(0, 120))"""
SMALL = """() => [...document.querySelectorAll('button, footer a')]
  .filter((e) => e.getBoundingClientRect().height < 44 || e.getBoundingClientRect().width < 44)
  .map((e) => e.textContent)"""


@pytest.fixture(params=[360, 390])
def phone(request: pytest.FixtureRequest, chromium: Any, busy: Served) -> Iterator[Tab]:
    size = {"width": request.param, "height": 844}
    made = Tab(chromium, busy.url, viewport=size, device_scale_factor=2, has_touch=True)
    made.until("document.querySelectorAll('#jobs tbody tr').length === 4")
    yield made
    made.close()


def test_nothing_is_cut_off_and_letters_can_be_read(phone: Tab) -> None:
    phone.page.tap("#jobs button.name")
    phone.until("document.querySelector('#jobs tr.more')")
    assert phone.page.evaluate(CUT_OFF) == []
    assert phone.page.evaluate(CROWDED) == []
    assert (
        phone.page.evaluate("document.documentElement.scrollWidth")
        <= (phone.page.viewport_size["width"])
    )
    assert phone.page.evaluate("parseFloat(getComputedStyle(document.body).fontSize)") >= 14
    phone.picture(f"phone-{phone.page.viewport_size['width']}")
    assert phone.said == []


# After months, with jobs that a search has named.
LARGE = """() => {
  const { node } = known, name = 'search_of_hyperparameters_with_lr_0.0001_and_decay_';
  const large = { delivered: 123456789, prepared: 98765432, shares_with: [2, 3, 4] };
  const jobs = node.jobs.map((job, at) => ({ ...job, ...large, name: name + at }));
  const totals = { delivered: 1234567890, prepared: 312345678, hits: 922222212 };
  take = () => {};
  known.node = { ...node, jobs, totals: { ...node.totals, ...totals, saved_cpu_s: 12345678 } };
  show();
}"""


def test_long_names_and_large_counts_have_room(phone: Tab) -> None:
    phone.page.evaluate(LARGE)
    assert phone.page.evaluate(CUT_OFF) == []
    assert phone.page.evaluate(CROWDED) == []
    phone.picture(f"phone-large-{phone.page.viewport_size['width']}")


def test_every_figure_of_a_table_has_its_name_beside_it(phone: Tab) -> None:
    unnamed = phone.page.evaluate(
        """() => [...document.querySelectorAll('.cards tbody tr:not(.more) td:not(.stack)')]
          .filter((e) => !e.dataset.label).map((e) => e.outerHTML)"""
    )
    assert unnamed == []
    (first,) = phone.page.evaluate(
        """() => [...document.querySelectorAll('#stages tbody tr')].slice(0, 1)
          .map((row) => [...row.querySelectorAll('td[data-label]')].map((e) => e.dataset.label))"""
    )
    assert first == [
        *("A worker takes", "computing", "waiting for storage", "waiting for a core"),
        *("Own part takes", "Job waits"),
    ]


def test_what_is_pressed_is_large_enough_for_a_finger(phone: Tab) -> None:
    assert phone.page.evaluate(SMALL) == []
