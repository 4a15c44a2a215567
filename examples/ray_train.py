"""Ray Train on three nodes: DistributedDataParallel, a rank on each; here all on this machine.

    python examples/ray_train.py [FOLDER]

Only `three_nodes` is for show. On a real cluster: `joader up --ray` once, then your script.
Needs: pip install '.[torch,images,ray]' 'ray[train]', in the clone.
"""

import os

import example_images
from raylets import joader, three_nodes


def worker(config):
    """Train in one of Ray's workers."""
    from ddp_over_nodes import train

    # Ray counts nodes by their address, and all three have this machine's.
    os.environ["LOCAL_WORLD_SIZE"] = "1"
    train(config["folder"])


def main():
    from ray.train import ScalingConfig
    from ray.train.torch import TorchTrainer

    folder = example_images.folder().absolute()
    with three_nodes() as nodes:
        TorchTrainer(
            worker,
            train_loop_config={"folder": folder},
            scaling_config=ScalingConfig(num_workers=3, placement_strategy="STRICT_SPREAD"),
        ).fit()
        print(joader("status", env=nodes["node0"]))


if __name__ == "__main__":
    main()
