"""Nodes that ask another for rows: every question has one answer, and none after it."""

from dataclasses import dataclass, field

import numpy as np

from joader.daemon.guests import REFUSED_S
from joader.messages import Begin, Deliver, Event, Join, Leave, Prepare, Release, Want
from joader.simulator.machine.clock import Clock
from joader.simulator.machine.guests import FIRST_GUEST, NETWORK_S, Ask, Guests, stream_of
from joader.simulator.machine.workload import JobSpec, MachineSpec

PATIENCE_S = 2.0
SPEC = JobSpec("job", dataset="d", rows=100, row_ms=1.0, sample_kb=50.0)


@dataclass
class Asking:
    """A node that notes what it is answered, and when."""

    clock: Clock
    name: str = "other"
    answers: list[tuple[str, list[int], float]] = field(default_factory=list)

    def came(self, home: str, ask: Ask) -> None:
        self.answers.append(("came", ask.rows, self.clock.now))

    def not_sent(self, home: str, ask: Ask) -> None:
        self.answers.append(("not sent", ask.rows, self.clock.now))


def ask(digests: bool = False) -> Ask:
    order = Prepare("d", 1, 1, (7, 8, 9), (70, 80, 90), (7, 8, 9), (0, 0, 0), (-1,), (0,))
    return Ask(order, [0, 2], digests)


class House:
    """A home with a link of one megabyte per second, which is told all that guests want."""

    def __init__(self) -> None:
        self.clock, self.told = Clock(), list[Event]()
        self.asker = Asking(self.clock)
        machine = MachineSpec(network_mb_per_s=1.0)
        self.guests = Guests(self.clock, machine, "home", self.told.append)

    def asked(self, spec: JobSpec | None = SPEC, one: Ask | None = None) -> None:
        self.guests.asked_for(spec, self.asker, one or ask(), PATIENCE_S)

    def deliver(self) -> None:
        samples = np.array([3, 4])
        self.guests.send(Deliver(FIRST_GUEST, samples, samples, samples, 2, 0))

    def until(self, seconds: float) -> None:
        self.clock.run(seconds, lambda: False)


def kinds(events: list[Event]) -> list[type]:
    return [type(event) for event in events]


def test_the_first_question_of_a_node_makes_it_a_job_that_is_told_its_rows() -> None:
    house = House()
    house.asked()
    assert kinds(house.told) == [Join, Begin, Want]
    join, _, want = house.told
    assert isinstance(join, Join)
    assert isinstance(want, Want)
    assert (join.order, join.stream) == ("told", stream_of("d"))
    assert list(want.positions) == [70, 90]
    house.asked()
    assert kinds(house.told) == [Join, Begin, Want, Want]


def test_what_is_asked_for_takes_its_time_on_the_link() -> None:
    house = House()
    house.asked()
    house.deliver()
    house.until(PATIENCE_S + 1.0)
    # 2 x 50 kB at 1 MB/s, and a message.
    assert house.asker.answers == [("came", [70, 90], 0.1 + NETWORK_S)]
    assert kinds(house.told)[-1] is Release


def test_digests_are_compared_where_they_are_made_so_no_sample_is_sent() -> None:
    house = House()
    house.asked(one=ask(digests=True))
    house.deliver()
    house.until(1.0)
    assert house.asker.answers == [("came", [70, 90], NETWORK_S)]


def test_what_comes_too_late_has_been_answered_and_is_given_back() -> None:
    house = House()
    house.asked()
    house.until(PATIENCE_S + 1.0)
    house.deliver()
    house.until(PATIENCE_S + 9.0)
    assert house.asker.answers == [("not sent", [70, 90], PATIENCE_S + NETWORK_S)]
    assert kinds(house.told)[-1] is Release


def test_nobody_is_let_in_to_data_that_no_job_reads() -> None:
    house = House()
    house.asked(spec=None)
    house.until(1.0)
    assert house.told == []
    assert house.asker.answers == [("not sent", [70, 90], NETWORK_S)]


def test_a_refused_node_is_answered_and_tried_again_only_later() -> None:
    house = House()
    house.asked()
    house.guests.refuse(FIRST_GUEST)
    assert not house.guests.has(FIRST_GUEST)
    house.asked()
    house.until(1.0)
    assert [kind for kind, *_ in house.asker.answers] == ["not sent"] * 2
    assert kinds(house.told).count(Join) == 1
    house.clock.after(REFUSED_S, lambda: None)
    house.until(REFUSED_S + 2.0)
    house.asked()
    assert kinds(house.told).count(Join) == 2


def test_with_the_last_reader_of_its_data_a_guest_leaves_and_is_answered() -> None:
    house = House()
    house.asked()
    house.guests.leave("e")
    assert house.guests.has(FIRST_GUEST)
    house.guests.leave("d")
    house.until(1.0)
    assert not house.guests.has(FIRST_GUEST)
    assert kinds(house.told)[-1] is Leave
    assert house.asker.answers == [("not sent", [70, 90], NETWORK_S)]
