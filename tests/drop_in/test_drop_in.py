"""Each idiom of users gives with joader's loader what it gives with torch's, and leaves nothing.

`make test` plays each by the start method that is hardest for it, `make test-all` by all three.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tests.drop_in.harness import Idiom, Outcome, play
from tests.drop_in.idioms import IDIOMS, may_mount

AT_A_TIME = 2  # scripts: most of what they do is to import torch


def cases() -> Iterator[object]:
    for idiom in IDIOMS:
        for number, start in enumerate(idiom.starts):
            marks = [pytest.mark.slow] if number or idiom.slow else []
            if idiom.name == "mount_namespaces" and not may_mount():
                marks.append(pytest.mark.skip(reason="mount namespaces are not permitted here"))
            yield pytest.param(idiom, start, id=f"{idiom.name}-{start}", marks=marks)


@pytest.fixture(scope="session")
def played(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[Idiom, str], Future[Outcome]]]:
    """What the scripts of all chosen tests give; they run ahead of the tests."""
    with ThreadPoolExecutor(AT_A_TIME) as executor:
        futures = {}
        for item in request.session.items:
            if item.function is not test_an_idiom_gives_what_torch_gives:
                continue
            if item.get_closest_marker("skip"):
                continue
            idiom, start = item.callspec.params["idiom"], item.callspec.params["start"]
            folder = tmp_path_factory.mktemp(idiom.name)
            futures[idiom.name, start] = executor.submit(play, idiom, start, folder)
        yield lambda idiom, start: futures[idiom.name, start]
        executor.shutdown(cancel_futures=True)


@pytest.mark.parametrize(("idiom", "start"), list(cases()))
def test_an_idiom_gives_what_torch_gives(
    idiom: Idiom, start: str, played: Callable[[Idiom, str], Future[Outcome]]
) -> None:
    complaint = played(idiom, start).result().complaint()
    if complaint:
        pytest.fail(complaint, pytrace=False)
