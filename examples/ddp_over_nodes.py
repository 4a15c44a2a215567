"""One model trained by ranks on several nodes, with torch's DistributedSampler, as always.

Each rank reads its part of every epoch. Another epoch, another part: what a rank reads now another
node has prepared before, and joader gets it from there. `torchrun_nodes.py` and `ray_train.py`
start it on several nodes.
"""

import os

import example_images
import torch
import torch.distributed as dist
from single_job import Photos
from torch.utils.data import DistributedSampler

from joader import DataLoader


def train(folder, epochs=3):
    """Train in this rank; torch.distributed is set up already."""
    torch.set_num_threads(1)
    rank = dist.get_rank()
    photos = Photos(folder)
    sampler = DistributedSampler(photos, seed=1)
    loader = DataLoader(photos, batch_size=16, sampler=sampler, deterministic=True, num_workers=1)
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64 * 64 * 3, 1000))
    model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    prepared_before = 0
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        count = torch.zeros(2)
        for images, labels in loader:
            loss = torch.nn.functional.cross_entropy(model(images / 255), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            count[0] += len(labels)
        count[1] = loader.stats().prepared - prepared_before
        prepared_before += int(count[1])
        dist.all_reduce(count)
        if rank == 0:
            pictures, prepared = map(int, count.tolist())
            ranks = f"{dist.get_world_size()} ranks"
            print(f"epoch {epoch}: {pictures} pictures, {prepared} prepared, {ranks}", flush=True)
    loader.close()


if __name__ == "__main__":
    dist.init_process_group("gloo")  # "nccl" on GPUs
    train(example_images.folder())
    print(f"rank {os.environ['RANK']} has ended on {os.environ.get('JOADER_NODE', 'its node')}")
    dist.destroy_process_group()
