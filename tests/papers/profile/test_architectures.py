"""Networks to train, by their names."""

import pytest

from joader.errors import BadArgument
from papers.profile.architectures import KINDS, checked_names, of_the_paper


def test_an_unknown_architecture_is_refused_with_those_there_are() -> None:
    with pytest.raises(BadArgument, match=r"no architecture 'resnet1'.*smvgg7"):
        checked_names(["resnet18", "resnet1"], "cpu")
    assert checked_names(["vgg7", "vgg7"], "cpu") == ["vgg7"]
    assert len(checked_names([], "cpu")) >= 20


def test_those_of_the_paper_are_told_from_others() -> None:
    papers = [name for name in KINDS if of_the_paper(name)]
    assert "vgg7" in papers
    assert 8 <= len(papers) < len(KINDS) + 1
