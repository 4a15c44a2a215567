"""Keys change what is selected, sorted and shown; jobs that come and go do not move it."""

from dataclasses import replace

from joader.cli.top.view import SORTS, View
from tests.cli.top.node import JOBS


def typed(keys: str | list[str], view: View | None = None) -> View:
    view = view or View()
    for key in keys:
        view = view.after(key, JOBS)
    return view


def test_arrows_move_through_jobs_and_stop_at_the_ends() -> None:
    assert [typed(["down"] * n).chosen(JOBS).id for n in range(5)] == [1, 2, 3, 3, 3]
    assert typed(["down", "down", "up"]).chosen(JOBS).id == 2
    assert typed(["up"]).chosen(JOBS).id == 1


def test_a_selected_job_stays_selected_when_others_leave_and_another_takes_over_when_it_does() -> (
    None
):
    view = typed(["down"])
    assert view.chosen(JOBS[1:]).id == 2
    assert view.chosen((JOBS[0], JOBS[2])).id == 1
    assert view.chosen(()) is None


def test_enter_shows_a_job_and_escape_goes_back() -> None:
    view = typed(["down", "enter"])
    assert (view.details, view.selected) == (True, 2)
    assert not view.after("escape", JOBS).details
    assert not View().after("enter", ()).details


def test_a_page_moves_by_ten_jobs_and_home_and_end_go_to_the_ends() -> None:
    many = tuple(replace(JOBS[0], id=n) for n in range(1, 31))
    view = View().after("page down", many)
    assert view.selected == 11
    assert view.after("page up", many).after("page up", many).selected == 1
    assert view.after("end", many).selected == 30
    assert view.after("end", many).after("home", many).selected == 1


def test_a_job_scrolls_as_far_as_it_has_lines_and_another_starts_at_its_top() -> None:
    view = typed(["enter", "page down", "page down"]).within(lines=25, room=11)
    assert view.scrolled == 14
    assert view.after("page up", JOBS).scrolled == 4
    assert view.after("down", JOBS).scrolled == 0
    assert view.within(lines=8, room=11).scrolled == 0
    assert typed(["escape", "enter"], view).scrolled == 0


def test_s_goes_through_all_orders_and_r_turns_them_around() -> None:
    seen = [typed("s" * n).sort for n in range(len(SORTS) + 1)]
    assert seen == [*SORTS, next(iter(SORTS))]
    by_rate = View(sort="rate")
    assert [job.id for job in by_rate.ordered(JOBS)] == [3, 1, 2]
    assert [job.id for job in typed("r", by_rate).ordered(JOBS)] == [2, 1, 3]
    assert [job.id for job in View(sort="waiting").ordered(JOBS)] == [2, 1, 3]


def test_jobs_that_are_equal_keep_the_order_of_their_numbers() -> None:
    equal = tuple(replace(job, samples_per_s=1.0) for job in reversed(JOBS))
    assert [job.id for job in View(sort="rate").ordered(equal)] == [1, 2, 3]


def test_jobs_that_have_ended_come_last_however_jobs_are_sorted_and_can_be_selected() -> None:
    past = tuple(replace(JOBS[0], id=n, name="a", ended=float(n)) for n in (11, 12))
    for sort in SORTS:
        for backwards in (False, True):
            view = View(sort=sort, backwards=backwards)
            assert [job.id for job in view.ordered((*past, *JOBS))][-2:] == [12, 11]
    assert View().after("end", (*JOBS, *past)).selected == 11
