"""`datasets`: formats, a transform that pads its batch, one that is replaced between epochs."""

import datasets
import torch
from loaders import WORKERS, batches, run

datasets.disable_progress_bars()


def pad(batch):
    longest = max(map(len, batch["t"]))
    return {"ids": [torch.tensor(t + [0] * (longest - len(t))) for t in batch["t"]]}


def count(batch):
    return {"together": [len(batch["t"])] * len(batch["t"])}


def make():
    return datasets.Dataset.from_dict({"t": [[n] * (n + 1) for n in range(6)], "n": list(range(6))})


def streamed():
    return make().select_columns("n").to_iterable_dataset(num_shards=2)


def main(DataLoader):
    for workers in WORKERS:
        print(workers)
        data = make()
        print(batches(DataLoader(data.select_columns("n"), batch_size=4, **workers)))
        print(batches(DataLoader(data.with_format("torch", ["n"]), batch_size=4, **workers)))
        data.set_transform(pad)
        loader = DataLoader(data, batch_size=3, **workers)
        print("padded", batches(loader))
        data.set_transform(count)
        print("replaced", batches(loader))
        mapped = make().map(lambda row: {"m": row["n"] * 2}).filter(lambda row: row["n"] > 1)
        part = mapped.select_columns("m").shuffle(seed=1)
        print("mapped", batches(DataLoader(part, batch_size=3, **workers)))
        print("streamed", batches(DataLoader(streamed(), batch_size=2, **workers)))


if __name__ == "__main__":
    run(main)
