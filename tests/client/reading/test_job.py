"""Every process has a name of its own, also one that was forked."""

import os

from joader.client.reading.job import process_name


def test_a_fork_is_another_process_by_name_and_the_parent_stays_what_it_was() -> None:
    before = process_name()
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(theirs, process_name().encode())
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as heard:
        name = heard.read()
    os.waitpid(child, 0)
    assert name.isdigit()
    assert name != before == process_name()
