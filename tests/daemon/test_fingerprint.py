"""Which machine this is."""

from pathlib import Path

from joader.daemon.fingerprint import machine_in_words, machine_name


def machine(root: Path, gpus: list[str], processor: str = "Made-up 9000") -> Path:
    (root / "proc").mkdir(parents=True)
    (root / "proc/cpuinfo").write_text(
        f"processor\t: 0\nmodel name\t: {processor}\n\nprocessor\t: 1\nmodel name\t: {processor}\n"
    )
    (root / "proc/meminfo").write_text("MemTotal:       16777216 kB\nMemFree:   1 kB\n")
    for number, name in enumerate(gpus):
        folder = root / f"proc/driver/nvidia/gpus/{number}"
        folder.mkdir(parents=True)
        (folder / "information").write_text(f"Model: \t\t {name}\nIRQ:   1\n")
    return root


def test_a_machine_is_told_by_processor_memory_and_gpus(tmp_path: Path) -> None:
    words = machine_in_words(machine(tmp_path / "a", ["H1", "H1"]))
    assert words["processor"] == "Made-up 9000"
    assert words["memory"] == "16 GiB"
    assert words["gpus"] == "H1, H1"
    same = machine_in_words(machine(tmp_path / "b", ["H1", "H1"]))
    other = machine_in_words(machine(tmp_path / "c", ["H1"]))
    assert machine_name(words) == machine_name(same) != machine_name(other)


def test_a_machine_that_says_nothing_has_a_name_too(tmp_path: Path) -> None:
    assert machine_in_words(tmp_path)["processor"] == "unknown"
    assert machine_in_words() == machine_in_words()
