"""Built-in image steps against torch's DataLoader with Pillow: one job, and N jobs with own crops.

  resize   decode and resize to 256 x 256. torch: Pillow in its workers; joader: prepare= steps
  crop     decode, then a random resized crop to 224 and a flip of its own for every job. torch:
           Pillow in its workers; joader: decode shared, crop and flip as transform= steps

Jobs are processes of their own and read every row once; imports and start-up are over before the
clock starts. torch is tried with several worker counts a job, and the best counts. Both sides give
uint8 tensors; both do the same work within one level (the random draws differ).

Copies of a sample with joader: `resize` 1 (the image is made in its slot, then copied into the
batch); `crop` 2 (the image is decoded in its slot and read there by the own part; the crop is
copied into a slot of its own, and from there into the batch).

    python benchmarks/bench_steps.py --rows 1000 --jobs 1,2,4 --photos FILE
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from harness import machine, report
from photos import photos

BATCH = 32


class Bodies:
    """Rows of JPEG bytes."""

    def __init__(self, path: str, length: int) -> None:
        self.path, self.length = path, length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, row: int) -> tuple[bytes, int]:
        bodies = photos(self.path)
        return bodies[row % len(bodies)], row


class Pillow(Bodies):
    """The same, prepared by Pillow, as training scripts do."""

    case = "resize"

    def __getitem__(self, row: int) -> Any:
        import io

        import numpy as np
        from PIL import Image

        body, row = super().__getitem__(row)
        with Image.open(io.BytesIO(body)) as photo:
            picture = photo.convert("RGB")
        if self.case == "resize":
            return np.array(picture.resize((256, 256), Image.Resampling.BILINEAR)), row
        from joader.images import RandomResizedCrop

        top, left, height, width = RandomResizedCrop(224).box(picture.height, picture.width, random)
        box = (left, top, left + width, top + height)
        picture = picture.resize((224, 224), Image.Resampling.BILINEAR, box=box)
        if random.random() < 0.5:
            picture = picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        return np.array(picture), row


def job(options: argparse.Namespace) -> None:
    """Be one job: say ready, wait for the go, read everything, say when it ended."""
    import torch.utils.data

    import joader
    from joader import images as im

    torch.set_num_threads(1)
    if options.side == "torch":
        data = Pillow(options.photos, options.rows)
        data.case = options.case
        data[0]
        loader: Any = torch.utils.data.DataLoader(
            data, BATCH, shuffle=True, num_workers=options.workers
        )
    else:
        steps: dict[str, Any] = {"prepare": [im.Decode(), im.Resize(256, 256)]}
        if options.case == "crop":
            own = [im.RandomResizedCrop(224), im.RandomHorizontalFlip()]
            steps = {"prepare": [im.Decode()], "transform": own}
        warm = joader.DataLoader(Bodies(options.photos, 64), 8, key="warm up", **steps)
        for _ in warm:
            pass
        warm.close()
        loader = joader.DataLoader(
            Bodies(options.photos, options.rows), BATCH, shuffle=True, deterministic=True, **steps
        )
    print("ready", flush=True)
    sys.stdin.readline()
    ids = [row for _, rows in loader for row in rows.tolist()]
    ended = time.monotonic()
    assert sorted(ids) == list(range(options.rows)), "ids are missing"
    print(json.dumps({"ended": ended}), flush=True)


def run(side: str, jobs: int, workers: int, options: argparse.Namespace) -> float:
    """Run `jobs` jobs of one side and return samples a second in total."""
    with tempfile.TemporaryDirectory(prefix="joader-bench-") as folder:
        environment = {**os.environ, "JOADER_RUNTIME": folder, "OMP_NUM_THREADS": "1"}
        daemon = None
        if side == "joader":
            daemon = subprocess.Popen(
                [
                    *(sys.executable, "-m", "joader.daemon.main", f"--socket={folder}/daemon.sock"),
                    *(
                        f"--memory={options.memory}",
                        f"--workers={len(os.sched_getaffinity(0))}",
                        "--idle=0",
                    ),
                ],
                env=environment,
                stderr=subprocess.DEVNULL,
            )
            while not Path(folder, "daemon.sock").exists():
                time.sleep(0.02)
        processes = [
            subprocess.Popen(
                [
                    *(sys.executable, __file__, "--job", f"--side={side}"),
                    *(f"--rows={options.rows}", f"--workers={workers}", f"--case={options.case}"),
                    f"--photos={options.photos}",
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
            assert process.stdout.readline().strip() == "ready"
        started = time.monotonic()
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        ended = max(json.loads(process.communicate()[0])["ended"] for process in processes)
        if daemon is not None:
            daemon.terminate()
            daemon.wait()
    return options.rows * jobs / (ended - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", default="1,2,4")
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--memory", default="500MB")
    parser.add_argument("--torch-workers", default="1,2")
    parser.add_argument("--photos", default="../shared/data/imagenet-sample.parquet")
    parser.add_argument("--job", action="store_true")
    parser.add_argument("--side")
    parser.add_argument("--case", default="resize")
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    if options.job:
        job(options)
        return
    rows: list[dict[str, object]] = []
    cases = [("resize", 1)] + [("crop", jobs) for jobs in map(int, options.jobs.split(","))]
    for case, jobs in cases:
        options.case = case
        ratios, ours, theirs = [], [], []
        for _ in range(options.repeats):
            best = max(
                run("torch", jobs, workers, options)
                for workers in map(int, options.torch_workers.split(","))
            )
            mine = run("joader", jobs, 0, options)
            ours.append(round(mine))
            theirs.append(round(best))
            ratios.append(mine / best)
        rows.append(
            {
                "case": case,
                "jobs": jobs,
                "joader_per_s": ours,
                "torch_best_per_s": theirs,
                "ratio": round(statistics.median(ratios), 2),
                "spread": [round(min(ratios), 2), round(max(ratios), 2)],
            }
        )
        print(rows[-1], flush=True)
        report("steps", machine(), __doc__ or "", rows)


if __name__ == "__main__":
    main()
