"""N ResNet18 jobs on one GPU: images a second in total, and CPU a sample, by loader.

Every job is a process of its own: bf16, batch 256, random resized crop to 224 and flip, SGD. Sides:
  gpu       the same batch over and over, already on the GPU: what the GPU can do
  torch     torch's DataLoader, Pillow decode and torchvision's crop, the cores split between jobs
  workers   joader: decode at full size shared; own crop and flip in its workers
  device    joader: decode and resize to 256 x 256 shared; own crop and flip on the GPU
Rows are many and point at few photos; the first pass is measured, so nothing is read twice by a
job. Jobs warm up, wait for each other, then train for a fixed time. CPU seconds are of all
processes, in that time.

    python benchmarks/bench_gpu.py --jobs 1,2,4,6 --seconds 15 --photos FILE
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from harness import machine, report
from photos import photos

BATCH = 256
SIDES = ("gpu", "torch", "workers", "device")
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
WARM_UP = 12


class Bodies:
    """Rows of JPEG bytes and labels."""

    def __init__(self, path: str, length: int) -> None:
        self.path, self.length = path, length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, row: int) -> tuple[bytes, int]:
        bodies = photos(self.path)
        return bodies[row % len(bodies)], row % 1000


class Crops(Bodies):
    """The same, decoded by Pillow and cropped by torchvision, as training scripts do."""

    def __getitem__(self, row: int) -> Any:
        import io

        import torch
        from PIL import Image
        from torchvision.transforms import v2

        body, label = super().__getitem__(row)
        if not hasattr(self, "steps"):
            torch.set_num_threads(1)
            self.steps = v2.Compose(
                [v2.RandomResizedCrop(224), v2.RandomHorizontalFlip(), v2.PILToTensor()]
            )
        with Image.open(io.BytesIO(body)) as photo:
            return self.steps(photo.convert("RGB")), label


def job(options: argparse.Namespace) -> None:
    """Be one job: warm up, wait for the go, train for a while, say how many images."""
    import torch
    import torchvision

    torch.set_num_threads(1)
    device = torch.device(options.device)
    bf16 = torch.autocast(device.type, torch.bfloat16)
    model = torchvision.models.resnet18().to(device, memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    loss_of = torch.nn.CrossEntropyLoss()
    batches = iter(_batches(options, device))
    seen: list[int] = []

    def step() -> int:
        images, labels = next(batches)
        with bf16:
            loss = loss_of(model(images), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return len(labels)

    for _ in range(WARM_UP):
        step()
    _wait(device)
    print("ready", flush=True)
    deadline = float(sys.stdin.readline())
    count = 0
    while time.time() < deadline:
        count += step()
        # No further ahead than the GPU's queue would be in a script that reads its loss.
        seen.append(count)
        if len(seen) % 4 == 0:
            _wait(device)
    _wait(device)
    print(json.dumps({"images": count, "late": time.time() - deadline}), flush=True)


def _wait(device: Any) -> None:
    import torch

    if device.type == "cuda":
        torch.cuda.synchronize()


def _batches(options: argparse.Namespace, device: Any) -> Any:
    import torch

    import joader
    from joader import images as im

    to_model = im.Batch([im.ToTensor(), im.Normalize(MEAN, STD)])
    rows, path = options.rows, options.photos

    def channels_last(batch: Any) -> Any:
        pictures, labels = to_model(batch)
        return pictures.contiguous(memory_format=torch.channels_last), labels

    if options.side == "gpu":
        pictures = torch.randint(0, 255, (BATCH, 224, 224, 3), dtype=torch.uint8, device=device)
        labels = torch.randint(0, 1000, (BATCH,), device=device)
        while True:
            yield channels_last((pictures, labels))
    if options.side == "torch":
        loader: Any = torch.utils.data.DataLoader(
            Crops(path, rows), BATCH, shuffle=True, num_workers=options.workers, pin_memory=True
        )

        def finish(batch: Any) -> Any:
            pictures, labels = batch
            return channels_last((pictures.permute(0, 2, 3, 1), labels))
    elif options.side == "workers":
        loader = joader.DataLoader(
            Bodies(path, rows),
            BATCH,
            shuffle=True,
            pin_memory=True,
            deterministic=True,
            prepare=[im.Decode()],
            transform=[im.RandomResizedCrop(224), im.RandomHorizontalFlip()],
        )
        finish = channels_last
    else:
        loader = joader.DataLoader(
            Bodies(path, rows),
            BATCH,
            shuffle=True,
            pin_memory=True,
            deterministic=True,
            prepare=[im.Decode(), im.Resize(256, 256)],
        )
        crop = im.Batch([im.RandomResizedCrop(224), im.RandomHorizontalFlip()])

        def finish(batch: Any) -> Any:
            return channels_last(crop(batch))

    yield from joader.DevicePrefetcher(loader, device, finish)


def _workers(side: str, cores: int, jobs: int, lent: int) -> int:
    """Return what a job gives as num_workers.

    torch's jobs share the cores, as more would slow each other down. joader's lend half of them
    each, as no more are at work than there are cores.
    """
    share = max(1, cores // jobs)
    return (lent or max(share, cores // 2)) if side in ("workers", "device") else share


def run(side: str, jobs: int, options: argparse.Namespace) -> dict[str, Any]:
    """Run `jobs` jobs of one side and return images a second in total, and CPU a sample."""
    folder = Path(tempfile.mkdtemp(prefix="joader-gpu-"))
    environment = {**os.environ, "JOADER_RUNTIME": str(folder)}
    cores = len(os.sched_getaffinity(0))
    daemon = None
    if side in ("workers", "device"):
        daemon = subprocess.Popen(
            [
                *(sys.executable, "-m", "joader.daemon.main", f"--socket={folder}/daemon.sock"),
                *(f"--memory={options.memory}", f"--workers={options.joader_workers or cores}"),
                "--idle=0",
            ],
            env=environment,
        )
        while not (folder / "daemon.sock").exists():
            time.sleep(0.02)
    processes = [
        subprocess.Popen(
            [
                *(sys.executable, __file__, "--job", f"--side={side}", f"--rows={options.rows}"),
                *(f"--workers={_workers(side, cores, jobs, options.lent)}",),
                f"--photos={options.photos}",
                f"--device={options.device}",
            ],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(jobs)
    ]
    for process in processes:
        assert process.stdout is not None
        line = process.stdout.readline().strip()
        assert line == "ready", f"a job of {side} failed"
    roots = [process.pid for process in processes] + ([daemon.pid] if daemon else [])
    before = _tree_cpu(roots)
    daemon_before = _tree_cpu([daemon.pid], tree=False) if daemon else 0.0
    deadline = time.time() + options.seconds
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(f"{deadline}\n")
        process.stdin.flush()
    time.sleep(max(0.0, deadline - time.time()))
    cpu = _tree_cpu(roots) - before
    daemon_cpu = _tree_cpu([daemon.pid], tree=False) - daemon_before if daemon else 0.0
    results = [json.loads(process.communicate()[0]) for process in processes]
    found: dict[str, Any] = {}
    if daemon is not None:
        daemon.terminate()
        daemon.wait()
    shutil.rmtree(folder, ignore_errors=True)
    images = sum(result["images"] for result in results)
    seconds = options.seconds + sum(max(0.0, result["late"]) for result in results) / jobs
    found |= {
        "side": side,
        "jobs": jobs,
        "images_per_s": round(images / seconds),
        "cpu_ms_per_image": round(1000 * cpu / max(images, 1), 3),
        "daemon_us_per_image": round(1e6 * daemon_cpu / max(images, 1), 1),
        "slowest_job": round(min(result["images"] for result in results) / seconds),
    }
    return found


def _tree_cpu(roots: list[int], tree: bool = True) -> float:
    """Return CPU seconds so far of these processes, and of all below them."""
    todo, total = list(roots), 0.0
    while todo:
        pid = todo.pop()
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            if tree:
                for task in Path(f"/proc/{pid}/task").iterdir():
                    todo += map(int, (task / "children").read_text().split())
        except OSError:
            continue
        total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", default="1,2,4,6")
    parser.add_argument("--sides", default=",".join(SIDES))
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--memory", default="24GiB")
    parser.add_argument("--lent", type=int, default=0, help="num_workers of each joader job")
    parser.add_argument("--joader-workers", type=int, default=0)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--photos", default="../shared/data/imagenet-sample.parquet")
    parser.add_argument("--job", action="store_true")
    parser.add_argument("--side", choices=SIDES)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    if options.job:
        job(options)
        return
    rows = []
    for jobs in map(int, options.jobs.split(",")):
        for side in options.sides.split(","):
            rows.append(run(side, jobs, options))
            print(rows[-1], flush=True)
            report("gpu", machine(), __doc__ or "", rows)


if __name__ == "__main__":
    main()
