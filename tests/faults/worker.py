"""A worker under test: the real loop, with its messages, the user's code and writing wrapped."""

import os
from pathlib import Path
from typing import Any

from joader.memory import Parcel
from joader.recipe.parts import OwnPart, SharedPart
from joader.workers import loop
from tests.faults.injector import Armed, Injector, around, in_channels


def in_writing(injector: Injector) -> None:
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


if __name__ == "__main__":
    injector = Injector(Armed(Path(os.environ["JOADER_FAULTS"])), "worker")
    injector.at("start", "before")
    in_channels(injector)
    in_writing(injector)
    around(injector, "prepare", SharedPart, "prepare")
    around(injector, "own part", OwnPart, "finish")
    loop.main()
