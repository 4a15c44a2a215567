"""What is told of crews."""

from joader.schedule.work.crew_figures import crew_figures
from tests.schedule.floor import Floor


def test_figures_say_who_is_there_and_what_waits() -> None:
    floor = Floor(cores=1)
    ticket = floor.join(1, workers=1)
    floor.prepare(1, 1, 2, 3, 4)
    floor.settle()
    (crew,) = crew_figures(floor.dispatch.staff)
    assert crew.ticket == ticket[:8]
    assert crew.workers == (floor.workers[0].pid,)
    assert crew.queued + crew.in_hand == 4
    assert crew.in_flight == 1
    assert (crew.row_s, crew.computing_s, crew.storage_s, crew.core_s) == (0.0, 0.0, 0.0, 0.0)
    assert (crew.most, crew.in_flight_most, crew.reads_ahead) == (1, 0, False)
