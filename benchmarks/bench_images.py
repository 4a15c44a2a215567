"""What does each step on images cost, and what is it against Pillow? Microseconds an image.

Samples: one thread, as in a worker; every round runs all steps once over the same photos, so that a
slow minute hits all of them. `Pillow` rows do the same work by Pillow alone, to a NumPy array, as
datasets do today. Batches: photos resized to 256 x 256, on the device named (CPU: one thread).

    python benchmarks/bench_images.py --photos FILE [--device cuda] [--batch 64]
"""

import argparse
import io
import random
import statistics
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from harness import machine, report
from photos import photos

from joader.images import (
    Batch,
    CenterCrop,
    ColorJitter,
    Decode,
    Normalize,
    RandomHorizontalFlip,
    RandomResizedCrop,
    Resize,
    ShorterSide,
    Steps,
    ToTensor,
    image_shape,
    libraries,
    warm_up,
)

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
JITTER = ColorJitter(0.4, 0.4, 0.4, 0.1)
Case = tuple[str, Callable[[Any], Any], list[Any]]


def by_pillow(body: bytes, size: tuple[int, int] | None = None) -> Any:
    from PIL import Image

    with Image.open(io.BytesIO(body)) as photo:
        image = photo.convert("RGB")
        if size is not None:
            image = image.resize(size, Image.Resampling.BILINEAR)
        return np.asarray(image)


def without_torch(step: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Run a step as where torch is not installed."""

    def run(sample: Any) -> Any:
        kept = libraries.torch, libraries.loaded_torch
        libraries.torch = libraries.loaded_torch = lambda: None
        try:
            return step(sample)
        finally:
            libraries.torch, libraries.loaded_torch = kept

    return run


def sample_cases(bodies: list[bytes]) -> list[Case]:
    rng = random.Random(0)
    whole = [Decode()(body) for body in bodies]
    small = [Resize(256, 256)(image) for image in whole]
    crops = [CenterCrop(224)(image) for image in small]
    floats = [ToTensor("numpy")(image) for image in crops]
    crop, flip = RandomResizedCrop(224), RandomHorizontalFlip(1.0)
    room = np.empty(max(image.size for image in whole), np.uint8)
    to_256 = Steps([Decode(), Resize(256, 256)])
    return [
        ("header", image_shape, bodies),
        ("decode", Decode(), bodies),
        ("decode into a buffer", lambda body: Decode()(body, out=room), bodies),
        ("decode, Pillow", by_pillow, bodies),
        ("resize 256", Resize(256, 256), whole),
        ("resize 256, no torch", without_torch(Resize(256, 256)), whole),
        ("decode + resize 256", to_256, bodies),
        ("decode + resize 256, no torch", without_torch(to_256), bodies),
        ("decode + resize 256, Pillow", lambda body: by_pillow(body, (256, 256)), bodies),
        ("shorter side 256", ShorterSide(256), whole),
        ("center crop 224", CenterCrop(224), small),
        ("random resized crop 224", lambda image: crop(image, rng), whole),
        ("random resized crop 224, no torch", without_torch(lambda each: crop(each, rng)), whole),
        ("horizontal flip 224", lambda image: flip(image, rng), crops),
        ("horizontal flip 224, no torch", without_torch(lambda each: flip(each, rng)), crops),
        ("colour jitter 224", lambda image: JITTER(image, rng), crops),
        ("to tensor 224", ToTensor("numpy"), crops),
        ("normalize 224", Normalize(MEAN, STD), floats),
    ]


def batch_cases(bodies: list[bytes], size: int, device: str) -> list[Case]:
    import torch

    steps = Steps([Decode(), Resize(256, 256)])
    images = torch.from_numpy(np.stack([steps(bodies[n % len(bodies)]) for n in range(size)]))
    images = images.to(device)
    crops = CenterCrop(224).batch(images)
    floats = ToTensor().batch(crops)
    own = [RandomResizedCrop(224), RandomHorizontalFlip(), JITTER, ToTensor(), Normalize(MEAN, STD)]
    return [
        ("resize 224", Resize(224, 224).batch, [images]),
        ("center crop 224", CenterCrop(224).batch, [images]),
        ("random resized crop 224", own[0].batch, [images]),
        ("horizontal flip 224", own[1].batch, [crops]),
        ("colour jitter 224", own[2].batch, [crops]),
        ("to tensor 224", own[3].batch, [crops]),
        ("normalize 224", own[4].batch, [floats]),
        ("crop, flip, to tensor, normalize", Batch([*own[:2], *own[3:]]), [images]),
        ("crop, flip, jitter, to tensor, normalize", Batch(own), [images]),
    ]


def measure(
    cases: list[Case], rounds: int, images: int, finish: Callable[[], None], where: str
) -> list[dict[str, object]]:
    """Return µs an image for each case: median, least and most of the rounds."""
    for _, step, items in cases:
        for item in items[:10]:
            step(item)
    finish()
    found: dict[str, list[float]] = {name: [] for name, _, _ in cases}
    for _ in range(rounds):
        for name, step, items in cases:
            started = time.perf_counter()
            for item in items:
                step(item)
            finish()
            found[name].append((time.perf_counter() - started) / images * 1e6)
    rows: list[dict[str, object]] = []
    for name, spent in found.items():
        low, middle, high = min(spent), statistics.median(spent), max(spent)
        print(f"{where:12} {name:44} {middle:9.1f} µs  ({low:.1f} to {high:.1f})", flush=True)
        figures = {"microseconds": round(middle, 2), "least": round(low, 2), "most": round(high, 2)}
        rows.append({"where": where, "step": name, **figures})
    return rows


def compared(bodies: list[bytes], rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """Set decode + resize 256 against Pillow: times as fast, and levels apart."""
    spent = {row["step"]: float(str(row["microseconds"])) for row in rows}
    steps = Steps([Decode(), Resize(256, 256)])
    apart = [
        np.abs(steps(body).astype(int) - by_pillow(body, (256, 256)).astype(int)) for body in bodies
    ]
    most, share = max(int(each.max()) for each in apart), np.mean([(a > 0).mean() for a in apart])
    ours, pillow = spent["decode + resize 256"], spent["decode + resize 256, Pillow"]
    print(
        f"decode + resize 256: {pillow / ours:.2f} times Pillow's speed (asked for: 1.6), at most "
        f"{most} level apart, in {share:.1%} of the values"
    )
    return [
        {"step": "decode + resize 256, times Pillow", "found": round(pillow / ours, 3)},
        {"step": "levels apart from Pillow, at most", "found": most},
        {"step": "share of levels that differ", "found": round(float(share), 4)},
    ]


def versions() -> dict[str, str]:
    found = {}
    for name in ("pillow", "simplejpeg", "torch"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "none"
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--photos")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    bodies = photos(options.photos)[: options.count]
    started = time.perf_counter()
    warm_up()
    print(f"imports: {time.perf_counter() - started:.1f} s")
    torch = libraries.torch()
    where: dict[str, str | int] = {**machine(), **versions()}
    rows: list[dict[str, object]] = []
    is_gpu = options.device != "cpu"
    if torch is not None:
        torch.set_num_threads(1)
    if not is_gpu:
        rows = measure(sample_cases(bodies), options.rounds, len(bodies), lambda: None, "sample")
        rows += compared(bodies, rows)
    if torch is not None:
        if is_gpu:
            where["device"] = torch.cuda.get_device_name()
        finish = torch.cuda.synchronize if is_gpu else lambda: None
        cases = batch_cases(bodies, options.batch, options.device)
        rows += measure(cases, options.rounds, options.batch, finish, f"batch {options.device}")
    method = f"median of {options.rounds} interleaved rounds, {len(bodies)} photos, "
    method += f"batches of {options.batch} on {options.device}"
    report("images" if options.device == "cpu" else f"images_{options.device}", where, method, rows)


if __name__ == "__main__":
    main()
