"""What is soon to be used stays."""

from joader.cache import ExpectedUse, RefCount
from tests.cache.eviction.naive import Stage, machine_of

TestExpectedUseAgainstNaive = machine_of(ExpectedUse)


def test_expected_use_without_rates_and_plans_is_ref_count():
    orders = []
    for policy in (ExpectedUse, RefCount):
        stage = Stage(policy)
        for job in range(4):
            stage.begin(job, [home for home in range(20) if home % (job + 2) == 0])
        for home in range(20):
            stage.admit(home)
        orders.append(stage.order())
    assert orders[0] == orders[1]


def test_expected_use_keeps_what_a_fast_job_with_few_unread_will_ask_for():
    stage = Stage(ExpectedUse)
    stage.begin("a", [1])
    stage.begin("b", [2])
    one, two = stage.admit(1), stage.admit(2)
    stage.rate("a", 100 / 1_000)
    stage.rate("b", 10 / 50)
    assert stage.order() == [one, two]
    stage.rate("a", 100 / 400)
    assert stage.order() == [two, one]


def test_expected_use_sees_of_itself_that_the_first_to_leave_is_asked_for_more_often_now():
    stage = Stage(ExpectedUse)
    stage.begin("a", [1])
    stage.begin("b", [2])
    one, two = stage.admit(1), stage.admit(2)
    assert stage.policy.victims(1) == [two]
    stage.demand.rate("b", 64.0)  # nobody tells the policy: that is a call per job and tick
    assert [stage.policy.victims(1) for _ in range(100)][-1] == [one]


def test_expected_use_has_samples_leave_that_nobody_needs_then_the_rest_by_their_use():
    stage = Stage(ExpectedUse)
    stage.begin("a", [2, 3, 4, 5])
    stage.begin("idle", [2])
    stage.rate("a", 0.0)
    stage.rate("idle", 0.0)
    stage.begin("b", [3])
    nobody, hardly, expected, soon, late = (stage.admit(home) for home in range(1, 6))
    stage.plan(4, 8)
    stage.plan(5, 9)
    assert stage.order() == [nobody, hardly, expected, late, soon]


def test_expected_use_takes_rates_for_equal_that_differ_by_less_than_a_step():
    stage = Stage(ExpectedUse)
    stage.begin("a", [1])
    stage.begin("b", [2])
    one, two = stage.admit(1), stage.admit(2)
    stage.rate("b", 1.05)
    assert stage.order() == [two, one]
    stage.rate("b", 1.1)
    assert stage.order() == [one, two]


def test_expected_use_bears_rates_beyond_all_measure():
    stage = Stage(ExpectedUse)
    for job, rate in enumerate([1e300, 1.0, 1e-300]):
        stage.begin(job, [job])
        stage.rate(job, rate)
    fast, usual, slow = (stage.admit(home) for home in range(3))
    assert stage.order() == [slow, usual, fast]


def test_expected_use_remembers_a_plan_while_its_sample_is_pinned_or_absent():
    stage = Stage(ExpectedUse)
    stage.plan(1, 10)
    stage.begin("a", [2])
    one, two = stage.admit(1), stage.admit(2)
    assert stage.order() == [two, one]
    stage.pin(one)
    stage.let_go(one)
    assert stage.order() == [two, one]
    stage.unplan(1)
    assert stage.order() == [one, two]


def test_copies_of_what_another_node_keeps_leave_before_last_copies():
    stage = Stage(ExpectedUse)
    stage.begin("a", [2, 3, 4, 5])
    stage.begin("b", [3])
    nobody, copy, wanted_copy, last, soon = (
        stage.admit(home, copied=home in (2, 3, 5)) for home in range(1, 6)
    )
    stage.plan(5, 9)  # read next: it stays, wherever else it is
    assert stage.order() == [nobody, copy, wanted_copy, last, soon]
