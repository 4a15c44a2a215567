"""Each idiom of users gives with joader's loader what it gives with torch's, and leaves nothing.

`make test` plays each by the start method that is hardest for it, `make test-all` by all three.
"""

from collections.abc import Iterator

import pytest

from tests.drop_in.harness import Idiom, play
from tests.drop_in.idioms import IDIOMS, may_mount


def cases() -> Iterator[object]:
    for idiom in IDIOMS:
        for number, start in enumerate(idiom.starts):
            marks = [pytest.mark.slow] if number or idiom.slow else []
            if idiom.name == "mount_namespaces" and not may_mount():
                marks.append(pytest.mark.skip(reason="mount namespaces are not permitted here"))
            yield pytest.param(idiom, start, id=f"{idiom.name}-{start}", marks=marks)


@pytest.mark.parametrize(("idiom", "start"), list(cases()))
def test_an_idiom_gives_what_torch_gives(
    idiom: Idiom, start: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp(idiom.name)  # short: a socket's path has 108 bytes
    complaint = play(idiom, start, folder).complaint()
    if complaint:
        pytest.fail(complaint, pytrace=False)
