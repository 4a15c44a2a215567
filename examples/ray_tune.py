"""Ray Tune: eight trials on three nodes read the same photos; here all nodes on this machine.

    python examples/ray_tune.py [FOLDER]

Only `three_nodes` is for show. On a real cluster: `joader up --ray` once, then your script. Trials
must share a working folder for that: RAY_CHDIR_TO_TRIAL_DIR=0.
Needs: pip install '.[torch,images,ray]' 'ray[tune]', in the clone.
"""

import example_images
from raylets import joader, three_nodes


def trial(config):
    """Train with one learning rate, and report what was prepared for this trial."""
    import torch
    from ray import tune
    from single_job import Photos

    from joader import DataLoader

    torch.set_num_threads(1)
    with DataLoader(
        Photos(config["folder"]), batch_size=32, shuffle=True, deterministic=True, num_workers=1
    ) as loader:
        model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64 * 64 * 3, 1000))
        optimizer = torch.optim.SGD(model.parameters(), lr=config["lr"])
        for _ in range(config["epochs"]):
            for images, labels in loader:
                loss = torch.nn.functional.cross_entropy(model(images / 255), labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        stats = loader.stats()
    tune.report({"loss": loss.item(), "delivered": stats.delivered, "prepared": stats.prepared})


def main():
    from ray import tune

    space = {
        "folder": example_images.folder().absolute(),
        "epochs": 2,
        "lr": tune.grid_search([0.001 * 2**step for step in range(8)]),
    }
    with three_nodes() as nodes:
        results = [result.metrics for result in tune.Tuner(trial, param_space=space).fit()]
        delivered, prepared = (sum(r[name] for r in results) for name in ("delivered", "prepared"))
        print(f"{len(results)} trials: {delivered} samples delivered, {prepared} prepared")
        print(joader("status", env=nodes["node0"]))


if __name__ == "__main__":
    main()
