"""Several processes train one model (DistributedDataParallel); `job=` makes their loaders one job.

    torchrun --nproc-per-node=2 examples/ddp.py [FOLDER]

Each picture goes to one rank an epoch, and all ranks take equally many steps. A torch
DistributedSampler does the same: joader replaces it by the job's own plan.
Needs: pip install '.[torch,images]', in the clone.
"""

import os

import example_images
import torch
import torch.distributed as dist

from joader import DataLoader
from joader.images import Decode, Resize


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")  # "nccl" on GPUs
    rank = dist.get_rank()
    if rank == 0:
        example_images.folder()  # made by one rank, before the others look
    dist.barrier()
    loader = DataLoader(
        example_images.Files(example_images.folder()),
        batch_size=16,  # a rank
        shuffle=True,
        prepare=[Decode(), Resize(64, 64)],
        job="ddp-example",
        deterministic=True,  # so the second pass finds what the first has prepared
    )
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64 * 64 * 3, 1000))
    model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(2):
        count = torch.zeros(1)
        for images, labels in loader:
            loss = torch.nn.functional.cross_entropy(model(images / 255), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            count += len(labels)
        dist.all_reduce(count)
        if rank == 0:
            print(f"epoch {epoch}: {int(count)} pictures on {os.environ['WORLD_SIZE']} ranks")
    loader.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
