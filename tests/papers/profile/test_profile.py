"""`joader profile`: measured for real where that is quick, else fitted to made-up runs."""

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest

from joader.cli.main import main
from joader.daemon.fingerprint import machine_in_words
from papers.models.runs import Architecture, LoadingRun, Operation, TrainingRun
from papers.models.step_time import StepTime
from papers.profile.architectures import KINDS, of_the_paper
from papers.profile.samples import Samples, read_samples, write_samples

TRUE = StepTime(1e-13, 4e-13, 1e-11, 2e-5, 5e-13, 8e-6, 3e-5, 1e-4)
PAPERS = [name for name in KINDS if of_the_paper(name)][:8]


def architecture(name: str, seed: int) -> Architecture:
    rng = np.random.default_rng(seed)
    kinds = [
        Operation(
            int(rng.integers(1, 20)),
            float(rng.choice([0.0, 10.0 ** rng.uniform(5, 8.5)])),
            10.0 ** rng.uniform(3, 6.5),
            10.0 ** rng.uniform(2, 6.5),
        )
        for _ in range(20)
    ]
    return Architecture(name, 1000 * (seed + 1), tuple(kinds))


def made_up() -> Samples:
    kinds = [architecture(name, seed) for seed, name in enumerate(PAPERS)]
    runs = [
        TrainingRun(kind.name, batch, TRUE.step_s(TrainingRun(kind.name, batch, 1.0), kind))
        for kind in kinds
        for batch in (8, 32, 128, 512)
    ]
    rates = [(d, 100.0 * min(d, 4 + 0.3 * max(0, min(d, 8) - 4))) for d in range(1, 13)]
    loading = [LoadingRun("a", 5000, d, r, 0.0, d / r, 0.01) for d, r in rates]
    return Samples(machine_in_words(), "cuda", kinds, runs, loading)


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    path = tmp_path / "runs.json"
    write_samples(made_up(), str(path))
    return path


def test_models_are_fitted_and_what_they_are_worth_is_printed(
    kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    plot = tmp_path / "rows.svg"
    assert main(["profile", "--fit", str(kept), "--plot", str(plot)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "32 runs, 8 architectures, 4 batch sizes" in text
    assert "operations is best for an unknown one" in text
    assert "good enough" in text
    assert "not good enough" not in text
    assert "α₁·n and α₃" in text
    assert "cannot be told apart" in text
    assert "contended" in text
    assert "not this machine" not in text
    assert plot.read_text().count("three stages") == 1


def test_programs_get_the_same_as_json(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", "--fit", str(kept), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (fit,) = found["training"]["fits"]
    assert fit["good"]
    assert fit["best"] == "operations"
    assert len(fit["worth"][0]["by_kind"]) == len(PAPERS)
    assert next(one["name"] for one in found["loading"]["model"]["stages"]) == "free"


def test_runs_of_another_machine_are_shown_and_not_taken_for_this_one(
    kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = json.loads(kept.read_text())
    found["machine"]["gpus"] = "H9000"
    kept.write_text(json.dumps(found))
    assert main(["profile", "--fit", str(kept)]) == 0
    assert "not this machine" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("", "is damaged, or not a file of samples"),
        ('{"machine": {}}', "is damaged, or not a file of samples"),
        ('{"machine": {}, "device": "cpu", "form": 7}', "another version of joader"),
    ],
)
def test_a_damaged_file_is_named(
    body: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "runs.json"
    path.write_text(body)
    assert main(["profile", "--fit", str(path)]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("key", "odd"), [("step_s", 0.0), ("batch", 0), ("architecture", "unknown")]
)
def test_runs_that_cannot_be_are_refused(key: str, odd: object, kept: Path) -> None:
    found = json.loads(kept.read_text())
    found["training"][0][key] = odd
    kept.write_text(json.dumps(found))
    assert main(["profile", "--fit", str(kept)]) == 2


@pytest.mark.parametrize(
    "wrong",
    [
        ["--batches", "0"],
        ["--batches", "8,x"],
        ["--workers", "-1"],
        ["--seconds", "0"],
        ["--seconds", "nan"],
        ["--only", "both"],
    ],
)
def test_wrong_values_are_exit_code_2(wrong: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["profile", *wrong])
    assert ended.value.code == 2


def test_wrong_combinations_are_named(
    kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = str(tmp_path / "other.json")
    assert main(["profile", "--fit", str(kept), "--collect", other]) == 2
    assert "one of them" in capsys.readouterr().err
    assert main(["profile", "--fit", str(tmp_path / "none.json")]) == 2
    assert main(["profile", "no-such.py", "--only", "loading"]) == 2
    assert "there is no script" in capsys.readouterr().err


def test_rows_of_a_dataset_are_read_by_so_many_workers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, kept = tmp_path / "rows.npy", tmp_path / "runs.json"
    np.save(rows, np.zeros((64, 1000), np.uint8))
    quick = ["--only", "loading", "--workers", "1,2", "--seconds", "0.1"]
    assert main(["profile", str(rows), *quick, "--collect", str(kept)]) == 0
    assert "4 loading runs" in capsys.readouterr().out
    samples = read_samples(str(kept))
    assert [run.workers for run in samples.loading] == [1, 2, 1, 2]
    for run in samples.loading:
        assert run.sample_bytes == 1000
        assert run.rows_per_s > 100
        assert run.workers / run.rows_per_s == pytest.approx(
            run.read_s + run.prepare_s, rel=0.2, abs=1e-5
        )
    assert main(["profile", "--fit", str(kept)]) == 0


def test_the_last_runs_of_a_machine_are_kept_for_another_look(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["profile", "--fit"]) == 2
    assert "no runs of this machine are kept" in capsys.readouterr().err
    np.save(tmp_path / "rows.npy", np.zeros((64, 1000), np.uint8))
    quick = ["--only", "loading", "--workers", "1,2", "--seconds", "0.1"]
    assert main(["profile", str(tmp_path / "rows.npy"), *quick]) == 0
    measured = capsys.readouterr().out
    assert main(["profile", "--fit"]) == 0
    assert capsys.readouterr().out == measured


def test_a_row_that_cannot_be_read_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", "no-such-table", "--only", "loading"]) == 2
    assert "no-such-table" in capsys.readouterr().err


def test_training_is_measured_and_operations_are_counted(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from papers.profile.training_runs import Trainer

    trainer = Trainer("perceptron", "cpu")
    found = trainer.architecture
    # Linear layers have 2 flops per weight forward, and twice that backward, but for the first,
    # whose input needs no gradient.
    weights = [768 * 256, *[256 * 256] * 4, 256 * 100]
    assert found.parameters == sum(weights) + 5 * 256 + 100
    assert found.flops == pytest.approx(6 * sum(weights) - 2 * weights[0])
    few, many = (trainer.run(batch, 0.02).step_s for batch in (2, 512))
    assert 0.0 < few < many
    assert msgspec.json.decode(msgspec.json.encode(found), type=Architecture) == found
