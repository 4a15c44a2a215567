"""Whose orders come next: equal shares of worker time, and all of it for who wants less."""

from joader.schedule.limits.pace import RowPace
from joader.schedule.work.accounts import Accounts
from joader.schedule.work.claims import Claim, Claims
from joader.schedule.work.orders import Own, Row


def row(sample: int) -> Row:
    return Row("code", 1, 7, sample, sample, sample, 0, sample * 64, 64)


def own(sample: int, job: int = 1) -> Own:
    return Own(job, 7, sample, 5, 320, sample, 0, sample * 64, 64, b"layout")


def paced(pace: RowPace, row_s: float) -> None:
    for _ in range(60):
        pace.note(row_s, 1)


def play(claims: Claims, seconds: float, refill: int = 10_000) -> dict[str, float]:
    """Let one worker do what is next for a while; return what each claimant had of its time."""
    spent = {"rows": 0.0}
    now, sample = 0.0, refill
    while now < seconds:
        claim = claims.next(alone_in_recipe=False)
        assert claim is not None
        taken = claim.take(claim.pace.chunk)
        took_s = len(taken) * claim.pace.row_s
        claim.took(took_s, len(taken))
        now += took_s
        name = "rows" if isinstance(taken[0], Row) else f"own {taken[0].job}"
        spent[name] = spent.get(name, 0.0) + took_s
        for order in taken:  # as many come as are done
            sample += 1
            if isinstance(order, Row):
                claims.add_rows([row(sample)])
            else:
                claims.add_own(own(sample, order.job))
    return {name: took_s / seconds for name, took_s in spent.items()}


def test_who_wants_as_much_as_can_be_had_gets_an_equal_share() -> None:
    claims = Claims(Accounts(), "code")
    paced(claims.shared.pace, 0.0002)
    paced(claims.own_pace, 0.01)
    claims.add_rows([row(n) for n in range(500)])
    for n in range(100):
        claims.add_own(own(1000 + n, job=1))
        claims.add_own(own(2000 + n, job=2))
    shares = play(claims, 30.0)
    for share in shares.values():
        assert abs(share - 1 / 3) < 0.02


def test_who_wants_less_than_its_share_never_waits_for_more_than_what_is_in_hand() -> None:
    claims = Claims(Accounts(), "code")
    paced(claims.shared.pace, 0.0002)
    paced(claims.own_pace, 0.01)
    for n in range(10_000):
        claims.add_own(own(100_000 + n))
    claim = claims.next(alone_in_recipe=False)
    for n in range(100):
        for _ in range(20):  # others had their turns for long
            claim = claims.next(alone_in_recipe=False)
            assert claim is not None
            claim.take(claim.pace.chunk)
        claims.add_rows([row(n)])
        claim = claims.next(alone_in_recipe=False)
        if claim is not claims.shared:  # at most one turn of another comes before
            assert claim is not None
            claim.take(claim.pace.chunk)
            claim = claims.next(alone_in_recipe=False)
        assert claim is claims.shared
        assert claim.take(10) == [row(n)]


def test_who_was_away_has_saved_up_nothing() -> None:
    claims = Claims(Accounts(), "code")
    paced(claims.shared.pace, 0.001)
    paced(claims.own_pace, 0.01)
    claims.add_rows([row(n) for n in range(20_000)])
    for _ in range(400):
        claim = claims.next(alone_in_recipe=False)
        assert claim is claims.shared
        claim.take(claim.pace.chunk)
    claims.add_rows([row(n) for n in range(500)])
    for n in range(500):
        claims.add_own(own(1000 + n))
    shares = play(claims, 5.0)
    assert abs(shares["rows"] - 0.5) < 0.02


def test_a_larger_weight_is_a_larger_share() -> None:
    claims = Claims(Accounts(), "code")
    paced(claims.shared.pace, 0.001)
    paced(claims.own_pace, 0.001)
    claims.shared.account.share = 3.0
    claims.add_rows([row(n) for n in range(500)])
    for n in range(500):
        claims.add_own(own(1000 + n))
    assert abs(play(claims, 20.0)["rows"] - 0.75) < 0.02


def test_what_takes_longer_than_was_thought_is_charged_afterwards() -> None:
    claim = Claim(RowPace(), Accounts().of_recipe("code"))
    paced(claim.pace, 0.01)
    claim.queue += [row(n) for n in range(10)]
    claim.take(2)
    claim.took(5.0, 2)
    assert abs(claim.account.spent_s - 5.0) < 1e-9


def test_own_parts_of_a_job_that_reads_alone_come_before_its_further_rows() -> None:
    claims = Claims(Accounts(), "code")
    paced(claims.own_pace, 0.01)
    claims.add_rows([row(1), row(2)])
    claims.add_own(own(11))
    claims.of(own(11)).account.charge(100.0)
    first = claims.next(alone_in_recipe=True)
    assert first is claims.of(own(11))
    assert claims.next(alone_in_recipe=False) is claims.shared


def test_what_is_put_back_comes_first_and_in_its_order() -> None:
    claims = Claims(Accounts(), "code")
    claims.add_rows([row(3), row(4)])
    claims.put_back([row(1), own(11), row(2)])
    assert claims.shared.take(10) == [row(n) for n in (1, 2, 3, 4)]
    assert list(claims) == [own(11)]


def test_rows_can_be_surrendered_and_own_parts_stay() -> None:
    claims = Claims(Accounts(), "code")
    claims.add_rows([row(1)])
    claims.alone += [row(2), own(12)]
    claims.add_own(own(11))
    assert claims.surrender() == [row(2), row(1)]
    assert list(claims) == [own(12), own(11)]
    assert len(claims) == 2
    claims.forget(1)  # something of it waits
    assert len(claims) == 2
    claims.clear()
    assert len(claims) == 0


def whole(sample: int, job: int = 1) -> Row:
    return Row("code", job, 7, sample, sample, sample, 0, sample * 64, 64, whole=True)


def mixed() -> Claims:
    """Return claims of rows of 8 ms and own parts of 2 ms; two of four go with their rows."""
    claims = Claims(Accounts(), "code")
    paced(claims.shared.pace, 0.008)
    paced(claims.own_pace, 0.002)
    for order in (own(1), whole(2), whole(3), own(4)):
        claims.add_own(order)
    return claims


def test_rows_that_go_whole_wait_among_the_own_parts_of_their_job() -> None:
    claims = mixed()
    assert len(claims) == len(list(claims)) == 4
    taken = []
    while (claim := claims.next(alone_in_recipe=False)) is not None:
        assert claim is claims.of(own(9)) is claims.of(whole(9))
        taken.append([order.sample for order in claims.take(claim, claims.chunk_of(claim))])
    assert taken == [[1], [2, 3], [4]]  # a chunk is of orders that take as long


def test_a_chunk_of_rows_that_go_whole_takes_no_longer_than_others() -> None:
    claims = mixed()
    claim = claims.of(own(1))
    assert claims.chunk_of(claim) == 20
    claims.take(claim, 1)
    assert claims.chunk_of(claim) == 4


def test_a_row_that_goes_whole_is_charged_to_its_recipe_and_to_its_job() -> None:
    claims = mixed()
    claim = claims.of(own(1))
    claims.take(claim, 1)
    rows_s, own_s = claims.shared.account.used_s, claim.account.used_s
    taken = claims.take(claim, 4)
    assert round(claims.shared.account.used_s - rows_s, 6) == 0.016
    assert round(claim.account.used_s - own_s, 6) == 0.004
    claims.put_back(taken)
    assert round(claims.shared.account.used_s - rows_s, 6) == 0.0
    assert round(claim.account.used_s - own_s, 6) == 0.0
    assert [order.sample for order in claims] == [2, 3, 4]


def test_a_row_that_goes_whole_has_its_turn_when_both_accounts_have() -> None:
    claims = mixed()
    claim = claims.of(own(1))
    claims.take(claim, 1)
    claims.add_rows([row(20)])
    claims.shared.account.charge(5.0)
    assert claims.spent_s(claim) == claims.spent_s(claims.shared) == claims.shared.account.spent_s
    claim.account.charge(10.0)
    assert claims.next(alone_in_recipe=False) is claims.shared
    assert claims.next(alone_in_recipe=True) is claim


def test_rows_that_go_whole_are_not_given_up_to_crews_that_cannot_do_them() -> None:
    claims = mixed()
    claims.add_rows([row(20)])
    claims.alone.extend([whole(30), row(31)])
    assert [order.sample for order in claims.surrender()] == [31, 20]
    assert [order.sample for order in claims] == [30, 1, 2, 3, 4]
