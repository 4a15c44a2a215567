"""The figures of crews: who is in each, how much it has to do, and how long that takes."""

from joader.schedule.work.staff import Staff
from joader.statistics import CrewStatistics

# How much of a ticket others are shown: enough to tell crews apart, too little to come as a worker.
_SHOWN_LETTERS = 8


def crew_figures(staff: Staff) -> tuple[CrewStatistics, ...]:
    """Return those of all crews."""
    crews = staff.crews.values()
    paces = {crew.code: crew.queue.shared.pace for crew in crews}
    # A crew whose rows others prepare has no pace of its own; theirs is as good.
    paces |= {crew.code: crew.queue.shared.pace for crew in crews if crew.paced}
    return tuple(
        CrewStatistics(
            ticket=crew.ticket[:_SHOWN_LETTERS],
            jobs=tuple(sorted(crew.jobs)),
            workers=tuple(worker.pid for worker in crew.workers),
            lends=crew.lends,
            queued=len(crew.queue) + staff.held_by(crew),
            in_hand=sum(len(worker.busy) for worker in crew.workers),
            on_their_way=len(crew.born),
            most=crew.most,
            reads_ahead=crew.reads_ahead,
            computing=crew.queue.computing,
            row_ms=1000 * crew.queue.shared.pace.computing_s,
            row_s=paces[crew.code].known_s,
            computing_s=paces[crew.code].parts_s[0],
            storage_s=paces[crew.code].parts_s[1],
            core_s=paces[crew.code].parts_s[2],
            own_row_s=crew.queue.own_pace.known_s,
            in_flight=crew.in_flight,
            in_flight_most=staff.most_in_flight(crew.code),
        )
        for crew in crews
    )
