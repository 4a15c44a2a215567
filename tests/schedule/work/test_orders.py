"""Orders and the messages that carry them: nothing is lost or rearranged on the way."""

from msgspec.structs import replace

from joader.messages import Compare, Finish, Prepare
from joader.schedule.work.orders import Own, Row, messages_of, own_parts_of, part_of, rows_of


def row(sample: int, job: int = 1, recipe: str = "code") -> Row:
    return Row(
        recipe,
        job,
        key=7,
        sample=sample,
        row=sample + 100,
        position=sample + 200,
        times=3,
        offset=sample * 64,
        size_bytes=64,
    )


def own(sample: int) -> Own:
    return Own(1, 7, sample, 5, 320, sample + 200, 0, sample * 64, 64, b"layout")


def test_rows_of_one_job_travel_in_one_message_and_come_out_as_they_were() -> None:
    rows = [row(1), row(2), row(3)]
    (message,) = messages_of(rows)
    assert isinstance(message, Prepare)
    assert message.recipe == ""
    assert rows_of(replace(message, recipe="code")) == rows


def test_rows_of_different_jobs_or_recipes_do_not_share_a_message() -> None:
    messages = messages_of([row(1), row(2, job=2), row(3, job=2), row(4, 2, "other"), row(5)])
    assert [message.samples for message in messages if isinstance(message, Prepare)] == [
        (1,),
        (2, 3),
        (4,),
        (5,),
    ]


def test_messages_keep_the_order_in_which_a_worker_is_to_work() -> None:
    compare = Compare(1, 9, "code", 109, 576)
    messages = messages_of([row(1), own(2), compare, row(3), row(4)])
    assert [type(message) for message in messages] == [Prepare, Finish, Compare, Prepare]
    assert messages[2] is compare
    assert isinstance(messages[1], Finish)
    assert own_parts_of(messages[1]) == [own(2)]


def test_own_parts_without_layouts_have_an_empty_one_each() -> None:
    message = replace(messages_of([own(2)])[0], layouts=())
    assert isinstance(message, Finish)
    assert [one.layout for one in own_parts_of(message)] == [b""]


def test_a_part_of_a_message_has_the_chosen_places_and_other_rows_to_read() -> None:
    (message,) = messages_of([row(1), row(2), row(3)])
    assert isinstance(message, Prepare)
    part = part_of(message, {2: 55, 0: 44})
    assert (part.samples, part.rows) == ((3, 1), (55, 44))
    assert (part.positions, part.offsets) == ((203, 201), (192, 64))


def test_rows_that_go_whole_travel_apart_and_come_out_whole() -> None:
    rows = [row(1), replace(row(2), whole=True), replace(row(3), whole=True), row(4)]
    messages = [message for message in messages_of(rows) if isinstance(message, Prepare)]
    assert [message.samples for message in messages] == [(1,), (2, 3), (4,)]
    assert [one for message in messages for one in rows_of(replace(message, recipe="code"))] == rows
