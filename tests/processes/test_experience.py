"""What a daemon has learned of a recipe, the next one starts with."""

from pathlib import Path

from joader.daemon.experience_file import experience_path, read_recipes
from tests.processes.conftest import Node
from tests.processes.jobs import wait_until

READ = """
loader = joader.DataLoader(
    Squares(100_000, slow_s=0.002), batch_size=8, shuffle=True, num_workers=2, key="rows",
    job="train",
)
for number, batch in enumerate(loader):
    check(batch)
    if number == 0:
        say("reading")
    if number == int(sys.argv[1]):
        break
    time.sleep(0.05)
say("done")
"""


def down(node: Node) -> None:
    assert node.daemon is not None
    node.daemon.terminate()
    node.daemon.wait(20)


def needed(node: Node) -> float | None:
    """Return what the only job needs, as far as is known."""
    (job,) = node.status()["jobs"] or [{}]
    return (job.get("schedule") or {}).get("needed")


def test_the_next_daemon_knows_what_a_job_of_a_known_recipe_needs_at_its_first_batch(
    node: Node,
) -> None:
    node.up(workers=2)
    assert node.job(READ, "40").result() == ["reading", "done"]
    wait_until(lambda: not node.status()["jobs"])
    down(node)
    (known,) = read_recipes(experience_path()).values()
    assert known.rows.row_s > 0.002
    assert known.habits["train"].batch == 8.0
    assert 0.05 / 8 <= known.habits["train"].step_s < 0.5
    node.up(workers=2)
    job = node.job(READ, "400")
    assert job.line() == "reading"
    expected = known.rows.computing_s / known.habits["train"].step_s
    found = needed(node)
    assert found is not None
    assert expected / 2 < found < expected * 2


def test_a_damaged_file_is_named_in_the_log_and_jobs_read_on(node: Node) -> None:
    path = experience_path()
    path.parent.mkdir(parents=True)
    path.write_text("{")
    node.up(workers=2)
    assert node.job(READ, "40").result() == ["reading", "done"]
    down(node)
    assert f"{path} is damaged" in Path(node.run / "daemon.log").read_text()
    assert len(read_recipes(path)) == 1
