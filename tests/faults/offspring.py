"""What is wrapped in a job for the processes it will bear: they take on their roles at birth.

A nursery is forked from its job, and workers from the nursery. So all of it is wrapped in the job,
before it iterates, and asks for the role of the process that comes by.
"""

import os
from typing import Any

from joader import wire
from joader.memory import Parcel
from joader.recipe.parts import OwnPart, SharedPart
from joader.workers import nursery
from tests.faults.injector import Injector, around


def in_offspring(injector: Injector) -> None:
    """Come by the births of a job's nursery and workers, and by what they do."""
    _in_births(injector)
    _in_writing(injector)
    for step, method in (("attend", "_attend"), ("reap", "_reap"), ("hang up", "_leave_daemon")):
        around(injector, step, nursery.Nursery, method)
    around(injector, "hello", nursery, "welcomed")
    _in_hello(injector)
    around(injector, "prepare", SharedPart, "prepare")
    around(injector, "own part", OwnPart, "finish")


def _in_births(injector: Injector) -> None:
    be_nursery, born = nursery.be_nursery, nursery.Nursery._born
    bear, be_worker = nursery.Nursery._bear, nursery.Nursery._be_worker
    fork = os.fork

    def faulty_nursery(childhood: nursery.Childhood) -> None:
        injector.become("nursery")
        injector.at("birth", "before")
        be_nursery(childhood)

    def faulty_born(self: nursery.Nursery) -> Any:
        injector.at("birth", "after")
        return born(self)

    def faulty_bear(self: nursery.Nursery, number: int) -> None:
        injector.at("bear", "before")
        bear(self, number)
        injector.at("bear", "after")

    def faulty_fork() -> int:
        pid = fork()
        if pid and injector.role == "nursery":
            injector.at("bear", "half")
        return pid

    def faulty_worker(self: nursery.Nursery, number: int) -> None:
        injector.become("worker")
        injector.at("fork", "after")
        be_worker(self, number)

    nursery.be_nursery = faulty_nursery  # type: ignore[assignment]
    nursery.Nursery._born = faulty_born  # type: ignore[method-assign]
    nursery.Nursery._bear = faulty_bear  # type: ignore[method-assign]
    nursery.Nursery._be_worker = faulty_worker  # type: ignore[assignment,method-assign]
    os.fork = faulty_fork


def _in_hello(injector: Injector) -> None:
    """Come by between a hello and the answer to it."""
    exactly = wire._exactly

    def faulty_exactly(*arguments: Any) -> Any:
        injector.at("welcome" if injector.role == "job" else "hello", "half")
        return exactly(*arguments)

    wire._exactly = faulty_exactly


def _in_writing(injector: Injector) -> None:
    """Come by while a slot is written: half of it is, and the rest is not what it should be."""
    write = Parcel.write

    def faulty_write(self: Parcel, slot: Any) -> Any:
        injector.at("write", "before")
        if injector.due("write", "half"):
            slot[: len(slot) // 2] = 0xEE
            injector.fire()
        written = write(self, slot)
        injector.at("write", "after")
        return written

    Parcel.write = faulty_write  # type: ignore[method-assign]
