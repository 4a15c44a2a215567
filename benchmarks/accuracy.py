"""Does the order change what a model learns? CIFAR-10 on a GPU, jobs out of step.

Four jobs train a small residual network at a time, the second 0.3 of a pass after the first, the
others at 0.6 and 0.5 of their speed: with torch's DataLoader, with joader's streams and with joint
draws, the daemon having room for a fifth of the rows. Each seed is one such group; it sets weights
and augmentation (on the GPU), and torch's shuffles; joader's orders are the daemon's. Compared are
means over the four jobs of a group, since these depend on each other: five groups per side. The
p-value is that of a permutation test over all ways to split ten groups into five and five, two
sided; the least it can be is 2/252 = 0.008.

    python benchmarks/accuracy.py --data FOLDER [--seeds 5] [--epochs 8] [--plot FILE]
"""

import argparse
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from harness import machine, report

SIDES = ("torch", "shared", "joint")
# Of each job: when it starts, in passes of the first, and its speed.
JOBS = ((0.0, 1.0), (0.3, 1.0), (0.1, 0.6), (0.7, 0.5))
BATCH = 256
MEAN, DEVIATION = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)


class Pictures:
    """Decoded images with their labels."""

    def __init__(self, images: Any, labels: Any) -> None:
        self.images, self.labels = images, labels

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, row: int) -> Any:
        return np.array(self.images[row]), int(self.labels[row])


def decoded(path: Path) -> tuple[Any, Any]:
    """Return images and labels of a Parquet file."""
    import pyarrow.parquet as pq
    from PIL import Image

    table = pq.read_table(path, columns=["image", "label"])
    bodies = table["image"].to_pylist()
    images = np.stack([np.array(Image.open(io.BytesIO(b)).convert("RGB")) for b in bodies])
    return images.transpose(0, 3, 1, 2).copy(), np.array(table["label"].to_pylist(), np.int64)


def network() -> Any:
    """Return a residual network of eight layers."""
    from torch import nn

    def layer(before: int, after: int, *more: Any) -> Any:
        convolution = nn.Conv2d(before, after, 3, padding=1, bias=False)
        return nn.Sequential(convolution, nn.BatchNorm2d(after), nn.ReLU(), *more)

    class Residual(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.inner = nn.Sequential(layer(width, width), layer(width, width))

        def forward(self, x: Any) -> Any:
            return x + self.inner(x)

    return nn.Sequential(
        *(layer(3, 32), layer(32, 64, nn.MaxPool2d(2)), Residual(64)),
        *(layer(64, 128, nn.MaxPool2d(2)), layer(128, 256, nn.MaxPool2d(2)), Residual(256)),
        *(nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(256, 10)),
    )


def train(options: argparse.Namespace) -> None:
    """Be one job: train at a fixed pace; say the loss of each pass and the accuracy at the end."""
    import torch
    from torch.nn.functional import cross_entropy, pad

    torch.manual_seed(options.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    folder = Path(options.data)
    train_set = Pictures(*(np.load(folder / f"train-{n}.npy", mmap_mode="r") for n in "xy"))
    how: dict[str, Any] = {"batch_size": BATCH, "shuffle": True, "drop_last": True}
    if options.side == "torch":
        loader: Any = torch.utils.data.DataLoader(
            train_set, num_workers=2, persistent_workers=True, **how
        )
    else:
        import joader

        loader = joader.DataLoader(
            train_set,
            num_workers=2,
            order=options.side,
            deterministic=True,
            key="cifar",
            fallback=False,
            **how,
        )
    model = network().to(device, memory_format=torch.channels_last)
    steps = options.epochs * len(loader)
    optimizer = torch.optim.SGD(model.parameters(), 0.2, momentum=0.9, nesterov=True)
    optimizer.param_groups[0]["weight_decay"] = 5e-4
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.2, steps, pct_start=0.25)
    mean, deviation = (
        torch.tensor(values, device=device).view(1, 3, 1, 1) for values in (MEAN, DEVIATION)
    )
    print("ready", flush=True)
    sys.stdin.readline()
    step_s = options.pass_s / options.speed / len(loader)
    time.sleep(options.start * options.pass_s)
    due, losses = time.perf_counter(), []
    for _ in range(options.epochs):
        total = torch.zeros((), device=device)
        for images, labels in loader:
            x = (images.to(device, non_blocking=True).float() / 255 - mean) / deviation
            if torch.rand(()) < 0.5:
                x = x.flip(3)
            shift = torch.randint(0, 9, (2,)).tolist()
            x = pad(x, (4, 4, 4, 4))[:, :, shift[0] : shift[0] + 32, shift[1] : shift[1] + 32]
            with torch.autocast(device, torch.bfloat16):
                out = model(x.contiguous(memory_format=torch.channels_last))
                loss = cross_entropy(out.float(), labels.to(device), label_smoothing=0.1)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.detach()
            due = max(due, time.perf_counter() - 0.2) + step_s
            time.sleep(max(0.0, due - time.perf_counter()))
        losses.append(total.item() / len(loader))
    model.eval()
    x, y = (np.load(folder / f"test-{name}.npy") for name in "xy")
    right = 0
    with torch.no_grad(), torch.autocast(device, torch.bfloat16):
        for first in range(0, len(y), 1000):
            some = torch.from_numpy(x[first : first + 1000]).to(device).float() / 255
            some = ((some - mean) / deviation).contiguous(memory_format=torch.channels_last)
            found = model(some).argmax(1).cpu().numpy()
            right += int((found == y[first : first + 1000]).sum())
    said: dict[str, Any] = {"losses": losses, "accuracy": right / len(y)}
    if options.side != "torch":
        stats = loader.stats()
        said |= {"delivered": stats.delivered, "prepared": stats.prepared}
    print(json.dumps(said), flush=True)


def start(side: str, seed: int, options: argparse.Namespace, folder: Path) -> list[Any]:
    """Start the four jobs of a group after a daemon of their own, if they need one."""
    jobs: list[Any] = []
    runtime = folder / f"{side}-{seed}"
    runtime.mkdir(mode=0o700)
    environment = {**os.environ, "JOADER_RUNTIME": str(runtime), "OMP_NUM_THREADS": "1"}
    if side != "torch":
        command = [sys.executable, "-m", "joader.daemon.main", f"--socket={runtime}/daemon.sock"]
        jobs.append(
            subprocess.Popen([*command, f"--memory={options.memory}", "--idle=0"], env=environment)
        )
        while not (runtime / "daemon.sock").exists():
            time.sleep(0.02)
    for number, (begin, speed) in enumerate(JOBS):
        command = [sys.executable, __file__, "--train", f"--side={side}", f"--data={folder}"]
        command += [f"--seed={100 * seed + number}", f"--start={begin}", f"--speed={speed}"]
        command += [f"--epochs={options.epochs}", f"--pass-s={options.pass_s}"]
        pipe = subprocess.PIPE
        jobs.append(subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True))
    return jobs


def finish(jobs: list[Any]) -> dict[str, Any]:
    """Return what the jobs of a group say, in the order of JOBS."""
    said = [json.loads(job.communicate()[0].splitlines()[-1]) for job in jobs[-len(JOBS) :]]
    for daemon in jobs[: -len(JOBS)]:
        daemon.terminate()
        daemon.wait()
    delivered = sum(one.get("delivered", 0) for one in said)
    shared = sum(one.get("prepared", 0) for one in said) / delivered if delivered else 1.0
    return {
        "accuracy": [one["accuracy"] for one in said],
        "losses": [one["losses"] for one in said],
        "prepared_per_delivered": round(shared, 4),
    }


def p_value(one: list[float], other: list[float]) -> float:
    """Return how likely a difference of means as large is by chance, by all permutations."""
    both = np.array(one + other)
    seen = abs(np.mean(one) - np.mean(other)) - 1e-12
    splits = [list(split) for split in combinations(range(both.size), len(one))]
    apart = [abs(both[split].mean() - np.delete(both, split).mean()) >= seen for split in splits]
    return sum(apart) / len(splits)


def plot(rows: list[dict[str, Any]], path: str) -> None:
    """Draw the loss of each pass, mean and range over groups, and the accuracy of every job."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    names = {"torch": "torch alone", "shared": "joader, streams", "joint": "joader, joint draws"}
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.4), width_ratios=(3, 2))
    for place, side in enumerate(SIDES):
        groups = [row for row in rows if row["side"] == side]
        losses = np.array([np.mean(row["losses"], axis=0) for row in groups])
        passes = np.arange(1, losses.shape[1] + 1)
        (line,) = left.plot(passes, losses.mean(0), label=names[side])
        left.fill_between(passes, losses.min(0), losses.max(0), alpha=0.2, color=line.get_color())
        accuracy = 100 * np.array([row["accuracy"] for row in groups])
        spread = np.linspace(-0.2, 0.2, accuracy.shape[1])
        right.scatter(
            np.tile(place + spread, len(accuracy)),
            accuracy.ravel(),
            s=12,
            alpha=0.6,
            color=line.get_color(),
        )
        right.hlines(accuracy.mean(), place - 0.3, place + 0.3, color=line.get_color())
    left.set(xlabel="pass", ylabel="training loss (mean; band: all groups)")
    left.legend(frameon=False)
    right.set_xticks(range(3), ["torch", "streams", "joint"])
    right.set_ylabel("test accuracy of each job, %")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, help="folder with cifar10-{train,test}.parquet")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--pass-s", type=float, default=4.0)
    parser.add_argument("--memory", default="32MiB")
    parser.add_argument("--plot")
    parser.add_argument("--train", action="store_true")
    for name, kind in (("side", str), ("seed", int), ("start", float), ("speed", float)):
        parser.add_argument(f"--{name}", type=kind)
    options = parser.parse_args()
    if options.train:
        train(options)
        return
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="joader-accuracy-") as name:
        folder = Path(name)
        for part in ("train", "test"):
            for letter, array in zip(
                "xy", decoded(Path(options.data) / f"cifar10-{part}.parquet"), strict=True
            ):
                np.save(folder / f"{part}-{letter}.npy", array)
        for seed in range(options.seeds):
            # All sides at a time: a slow minute hits all of them.
            groups = {side: start(side, seed, options, folder) for side in SIDES}
            everyone = [job for jobs in groups.values() for job in jobs[-len(JOBS) :]]
            for job in everyone:
                assert job.stdout.readline().strip() == "ready"
            for job in everyone:
                job.stdin.write("go\n")
                job.stdin.flush()
            for side, jobs in groups.items():
                rows.append({"side": side, "seed": seed, **finish(jobs)})
                print(json.dumps({k: v for k, v in rows[-1].items() if k != "losses"}), flush=True)
    means = {
        side: [float(np.mean(row["accuracy"])) for row in rows if row["side"] == side]
        for side in SIDES
    }
    last = {
        side: [
            float(np.mean([one[-1] for one in row["losses"]]))
            for row in rows
            if row["side"] == side
        ]
        for side in SIDES
    }
    verdict = {
        side: {
            "accuracy": round(float(np.mean(means[side])), 5),
            "spread_of_groups": round(float(np.std(means[side], ddof=1)), 5),
            "p_accuracy_against_torch": round(p_value(means["torch"], means[side]), 3),
            "last_loss": round(float(np.mean(last[side])), 5),
            "p_loss_against_torch": round(p_value(last["torch"], last[side]), 3),
        }
        for side in SIDES
    }
    print(json.dumps(verdict, indent=1))
    method = (
        f"{options.epochs} passes, groups of four jobs, {options.pass_s:g} s a pass of the first, "
        f"memory {options.memory}"
    )
    report("accuracy", machine(), method, [{"verdict": verdict}, *rows])
    if options.plot:
        plot(rows, options.plot)


if __name__ == "__main__":
    main()
