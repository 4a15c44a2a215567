"""One file with everything in it, and nothing in it can become markup."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

from joader.page import page, summary
from joader.statistics import RunStatistics, run_from_json
from tests.cli.top.node import NODE, job

EVIL = "</script><script>alert(1)</script><!--<img src=x onerror=alert(2)>&lt;{{css}}"


class Elements(HTMLParser):
    """All elements of a page, and what scripts hold."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.cdata_elem == "script":
            self.scripts[-1] += data


def test_names_of_jobs_and_datasets_cannot_become_markup() -> None:
    evil = job(1, EVIL, dataset=EVIL, table=EVIL, why=EVIL)
    run = RunStatistics(node=replace(NODE, jobs=(evil,)))
    found = Elements(summary(run))
    assert [tag for tag, _ in found.tags].count("script") == 2  # the figures, and the page's own
    assert not [tag for tag, _ in found.tags if tag == "img"]
    assert run_from_json(found.scripts[0].encode()) == run


def test_a_page_takes_nothing_from_anywhere_else() -> None:
    for text in (page()[0], summary(RunStatistics(node=NODE))):
        for tag, attributes in Elements(text).tags:
            assert "src" not in attributes
            assert tag not in ("iframe", "object", "embed", "form")
            assert (attributes.get("href") or "#").startswith(("#", "data:,"))
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
        assert "@import" not in text


def test_only_the_pages_own_code_may_run() -> None:
    text, policy = page()
    assert "default-src 'none'" in policy
    (nonce,) = set(re.findall(r"nonce-([\w-]+)", policy))
    own = [named for tag, named in Elements(text).tags if tag in ("script", "style")]
    assert [named.get("nonce") for named in own] == [nonce, nonce]
    assert page()[1] != policy  # another one each time
    meta = [a for tag, a in Elements(summary(RunStatistics())).tags if "http-equiv" in a]
    assert meta[0]["content"].startswith("default-src 'none'")


def test_a_file_holds_the_figures_as_they_are() -> None:
    found = Elements(summary(RunStatistics(node=NODE)))
    assert json.loads(found.scripts[0])["node"]["totals"]["delivered"] == 1200
