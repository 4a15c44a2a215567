"""`joader explain JOB JOB`: what two jobs share, or what keeps them from sharing."""

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from itertools import zip_longest
from typing import Any

from joader.cli.console import Console, write
from joader.cli.words import advice, ago, counted
from joader.client.watcher import Watcher
from joader.errors import BadArgument
from joader.recipe.fingerprint.shorthand import first_difference
from joader.statistics import DiagnosisStatistics, JobStatistics, label_of


def explain(first: str, second: str, as_json: bool) -> int:
    """Ask the daemon about two jobs and put the answer into words."""
    with Watcher() as watcher:
        run = watcher.run(time.time())
        jobs = {job.id: job for job in (*run.past, *run.node.jobs)}
        pair = [jobs[job_number(name, run.node.jobs, run.past)] for name in (first, second)]
        if any(job.ended for job in pair):
            return _explain_ended(pair[0], pair[1], run.node.time, as_json)
        facts = json.loads(watcher.explained(pair[0].id, pair[1].id))
    one, other = facts["jobs"]
    for told, job in zip(facts["jobs"], pair, strict=True):
        figures = asdict(job)
        told |= {name: figures[name] for name in ("schedule", "diagnosis")}
        told["label"] = label_of(job)
    facts["why_not"] = why_not(one, other, facts["same_recipe"], facts["rows_in_common"])
    if as_json:
        for told in facts["jobs"]:
            del told["outline"]
        write(json.dumps(facts, indent=2) + "\n", sys.stdout)
    else:
        _print(_lines(one, other, facts))
    return 0


def job_number(name: str, jobs: Sequence[JobStatistics], past: Sequence[JobStatistics] = ()) -> int:
    """Return the number of a job given by number, process or name; `past`: jobs that have ended."""
    for among in (jobs, past):
        for called in _WAYS_TO_NAME:
            found = [job.id for job in among if called(job) == name]
            if len(found) == 1:
                return found[0]
            if found:
                numbers = ", ".join(map(str, found))
                raise BadArgument(
                    f"{counted(len(found), 'job')} are called {name!r}; use a number: {numbers}"
                )
    known = ", ".join(f"{job.id} ({label_of(job)}, process {job.pid})" for job in jobs)
    raise BadArgument(
        f"there is no job {name!r}; the daemon serves {known or 'none now'}. `joader status` shows "
        "them, and `joader status --ended` those that have ended"
    )


# Most of them are unique; a name need not be.
_WAYS_TO_NAME: tuple[Callable[[JobStatistics], str], ...] = (
    lambda job: str(job.id),
    lambda job: f"#{job.id}",
    lambda job: str(job.pid),
    label_of,
    lambda job: job.name,
)


def _explain_ended(one: JobStatistics, other: JobStatistics, now: float, as_json: bool) -> int:
    """Say what two jobs took from each other: of one that has ended, only figures are left."""
    alike = one.id in other.shares_with or other.id in one.shares_with
    taken = [(a, b, a.taken_from.get(b.id, 0)) for a, b in ((one, other), (other, one))]
    if as_json:
        told = {
            "same_recipe": alike or None,  # None: they never read at the same time
            "jobs": [asdict(job) for job in (one, other)],
            "taken": {str(a.id): count for a, _, count in taken},
        }
        write(json.dumps(told, indent=2) + "\n", sys.stdout)
        return 0
    lines = [_line_of_figures(job, now) for job in (one, other)]
    lines += [
        f"job {a.id} took {count:,} samples that job {b.id} prepared" for a, b, count in taken
    ]
    if not any(count for *_, count in taken) and not alike:
        lines.append(
            "whether they could have shared is not known any more: ask while both are reading"
        )
    _print(lines)
    return 0


def _print(lines: Sequence[str]) -> None:
    console = Console()
    for line in lines:
        console.print_plain(line)


def _line_of_figures(job: JobStatistics, now: float) -> str:
    ended = f"; ended {ago(job.ended, now)}" if job.ended else ""
    told = {
        "id": job.id,
        "label": label_of(job),
        "pid": job.pid,
        "dataset": job.table or job.dataset or "a dataset",
        "delivered": job.delivered,
        "taken_from_others": job.shared,
    }
    return f"{_line(told)}{ended}"


def _lines(one: dict[str, Any], other: dict[str, Any], facts: dict[str, Any]) -> list[str]:
    lines = [line for job in (one, other) for line in (_line(job), _limit(job))]
    common = facts["rows_in_common"]
    lines += [_of_nodes(job) for job in (one, other) if job.get("over_nodes")]
    if one["team"] and one["team"] == other["team"]:
        return [*lines, "they are ranks of one job: each of its rows goes to one of them"]
    if common is None:
        lines.append("rows in common: not known, as their datasets differ")
    else:
        lines.append(f"rows in common: {common:,} of {one['rows']:,} and {other['rows']:,}")
        if 0 < common < min(one["rows"], other["rows"]) and one["content"] != other["content"]:
            lines.append("(as far as whole folders and shards are the same in both, with labels)")
    if facts["why_not"]:
        return [*lines, f"nothing is prepared in common: {facts['why_not']}"]
    steps = " → ".join(["reading", *one["shared"]])
    alone = [job["id"] for job in (one, other) if job.get("reads_itself")]
    if alone:
        once = (
            f"job {alone[0]} has no workers (num_workers=0, or its rows take no time): it takes "
            "what those of the other have prepared, and what it reads itself nobody else gets"
        )
    else:
        once = "each of these rows once for both"
    lines.append(f"prepared in common: {steps}; {once}")
    if not (one["deterministic"] and other["deterministic"]):
        lines.append(
            "(the code may be random: a preparation serves each job once and is not kept; "
            "deterministic=True says that it is not)"
        )
    lines += _of_order(one, other)
    own = [job for job in (one, other) if job["own"]]
    return [*lines, *(f"job {job['id']} alone: {' → '.join(job['own'])}" for job in own)]


def _of_nodes(job: dict[str, Any]) -> str:
    """Say how the ranks of a job over several nodes divide its rows, and whom that concerns."""
    if not job["locality"]:
        return f"job {job['id']} is a rank of a job over nodes, which splits each step uniformly"
    return (
        f"job {job['id']} is a rank of a job over nodes, and reads what its node has: mostly the "
        "same rows in every pass, until homes are drawn anew. That concerns BatchNorm without "
        "sync, contrastive losses and mixing within a batch; locality=False splits uniformly"
    )


def _of_order(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Say how two jobs that share come to ask for the same rows."""
    if one["order"] != other["order"] or one["order"] not in ("shared", "joint"):
        apart = next((job for job in (one, other) if job["order"] not in ("shared", "joint")), one)
        words = {"told": "a sampler's order", "given": "the order of the dataset"}
        named = words.get(apart["order"], f"order={apart['order']!r}")
        return [
            f"job {apart['id']} reads in {named}: they meet in memory only, if it holds what lies "
            "between them"
        ]
    if one["order"] == "joint":
        return ["they draw jointly: each row uniform given what both have drawn"]
    if one["seed"] is not None and one["seed"] == other["seed"]:
        return [f"they follow one stream; its seed is {one['seed']} while all its jobs give that"]
    text = "they follow one stream; its seed is the daemon's"
    given = [
        f"job {job['id']} gives {job['seed']}" for job in (one, other) if job["seed"] is not None
    ]
    return [f"{text} ({', '.join(given)}: not all the same)" if given else text]


def _line(job: dict[str, Any]) -> str:
    delivered, shared = job["delivered"], job["taken_from_others"]
    part = f", {shared / delivered:.0%} of them prepared for another job" if delivered else ""
    line = (
        f"job {job['id']}: {job['label']} (process {job['pid']}), {job['dataset']}; "
        f"{delivered:,} samples delivered{part}"
    )
    its = job.get("schedule")
    return f"{line}; {its['share']:.2f} workers ({its['reason']})" if its else line


def _limit(job: dict[str, Any]) -> str:
    return f"  {advice(DiagnosisStatistics(**job['diagnosis']))}"


def why_not(
    one: dict[str, Any], other: dict[str, Any], same_recipe: bool, common: int | None
) -> str:
    """Return why two jobs prepare nothing in common; "" if they do."""
    private = [job["id"] for job in (one, other) if job["private"]]
    if same_recipe and private:
        return _seeded(private[0])
    if same_recipe and common and one.get("reads_itself") and other.get("reads_itself"):
        return (
            "both read their rows themselves (num_workers=0, or the rows take no time), and what a "
            "job reads itself nobody else gets. Give both num_workers=1 or more to share"
        )
    if same_recipe and common:
        return ""
    if same_recipe:
        same = one["content"] == other["content"]
        return "they read different rows of it" if same else _dataset(one, other)
    for part, mine in one["runs"].items():  # empty if a key names the job
        if mine != (its := other["runs"].get(part, mine)):
            return _environment(part, mine, its)
    if one["key"] != other["key"]:
        named = [f"key={job['key']!r}" if job["key"] else "no key=" for job in (one, other)]
        return f"they were named differently: {named[0]} and {named[1]}"
    opaque = [job for job in (one, other) if job.get("opaque")]
    if opaque:
        return f"job {opaque[0]['id']} shares nothing: {opaque[0]['opaque']}"
    if private:
        return _seeded(private[0])
    for number, (mine, its) in enumerate(zip_longest(one["shared"], other["shared"])):
        if mine != its:
            return _step(number, mine, its)
    return _dataset(one, other)


def _seeded(job: int) -> str:
    return (
        f"job {job} has order='seeded' and code that may be random, so its random numbers are its "
        "own; deterministic=True says that there are none"
    )


def _environment(part: str, mine: str, its: str) -> str:
    words = {"interpreter": "other interpreters", "folder": "other working folders"}
    words["import path"] = "other import paths"
    if part == "import path":
        pairs = zip_longest(mine.split(os.pathsep), its.split(os.pathsep))
        mine, its = next((str(m), str(i)) for m, i in pairs if m != i)
    return (
        f"{words.get(part, f'another {part}')}: {mine} and {its}. The same code may be another "
        "there; give both loaders one key= if it is not"
    )


def _step(number: int, mine: str | None, its: str | None) -> str:
    text = f"prepare[{number}] is {mine or 'missing'} in one and {its or 'missing'} in the other"
    before = f"reading and {counted(number, 'step')} before it are" if number else "reading is"
    return (
        f"{text}. Only whole preparations are shared, though {before} the same: put what differs "
        "into transform="
    )


def _dataset(one: dict[str, Any], other: dict[str, Any]) -> str:
    columns = [", ".join(job["columns"]) for job in (one, other)]
    if columns[0] != columns[1] and all(columns):
        return f"a sample is of other columns: {columns[0]} in one, {columns[1]} in the other"
    places = [job["place"] or job["dataset"] for job in (one, other)]
    if not (one["place"] and other["place"]):
        return first_difference(one["outline"], other["outline"]) or _differ(*places)
    if one["place"] == other["place"]:
        return (
            f"other versions or parts of the files: {one['place']} has changed between the starts "
            "of the two jobs, or they list other files of it, or with other labels. Folders and "
            "shards are compared as a whole"
        )
    return _differ(*places)


def _differ(one: str, other: str) -> str:
    return f"other data: {one} and {other}"
