"""The Hugging Face Trainer, with `get_train_dataloader` overridden, and a resume in mid-epoch.

The Trainer skips what was read before. It can if it knows the order, and must not if the loader
goes on from a state of its own.
"""

import json
import os
import warnings
from pathlib import Path

import torch
from loaders import run
from torch.utils.data import Dataset
from transformers import (
    PretrainedConfig,
    PreTrainedModel,
    PrinterCallback,
    Trainer,
    TrainingArguments,
)
from transformers.utils import logging

warnings.filterwarnings("ignore")
logging.set_verbosity_error()

# How often rows come in each of two epochs of three steps.
EACH_ONCE = 6, [[1] * 12, [1] * 12]


class Rows(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, row):
        return {"x": torch.tensor([float(row)])}


class Model(PreTrainedModel):
    config_class = PretrainedConfig

    def __init__(self, config):
        super().__init__(config)
        self.layer = torch.nn.Linear(1, 1)
        self.seen = []
        self.post_init()

    def forward(self, x):
        self.seen.append(x[:, 0].tolist())
        return {"loss": self.layer(x).mean()}


def trainer(DataLoader, folder, steps=-1, saved=None, skips=True, **more):
    class Loading(Trainer):
        def get_train_dataloader(self):
            self.loader = DataLoader(self.train_dataset, batch_size=4, num_workers=2, **more)
            if saved:
                self.loader.load_state_dict(json.loads(saved.read_text()))
            return self.loader

        def _save_checkpoint(self, *arguments, **named):
            super()._save_checkpoint(*arguments, **named)
            if not skips:
                state = self.loader.state_dict()
                checkpoint = Path(folder) / f"checkpoint-{self.state.global_step}"
                (checkpoint / "loader.json").write_text(json.dumps(state))

    arguments = TrainingArguments(
        output_dir=folder,
        num_train_epochs=2,
        max_steps=steps,
        save_strategy="steps",
        save_steps=2,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        ignore_data_skip=not skips,
        logging_strategy="no",
    )
    made = Loading(model=Model(PretrainedConfig()), args=arguments, train_dataset=Rows())
    made.remove_callback(PrinterCallback)  # it prints how long that took
    return made


def main(DataLoader):
    folder = f"out-{os.environ['SIDE']}"
    whole = trainer(DataLoader, folder)
    whole.train()
    print("whole", whole.model.seen)
    rest = trainer(DataLoader, folder)
    rest.train(resume_from_checkpoint=f"{folder}/checkpoint-2")
    print("from step 2 on", rest.model.seen)
    if DataLoader is torch.utils.data.DataLoader:
        print(in_two_runs(DataLoader, 2))
        print(*EACH_ONCE, "no")  # torch's sampler goes on wrongly in the second epoch
        print(*EACH_ONCE, "no")
        return
    print(in_two_runs(DataLoader, 2, skips=False))
    for ways in ({"order": "seeded", "seed": 1}, {"skips": False}):
        print(*in_two_runs(DataLoader, 4, **ways), goes_on(DataLoader, 4))


def goes_on(DataLoader, steps):
    """Tell whether an epoch goes on whose order nobody knows."""
    try:
        in_two_runs(DataLoader, steps)
    except ValueError as error:
        return "no" if "ignore_data_skip" in str(error) else error
    return "yes"


def in_two_runs(DataLoader, steps, skips=True, **more):
    """Stop a shuffled training and go on; return how often it had each row in each epoch."""
    folder = f"shuffled-{os.environ['SIDE']}-{steps}-{skips}-{len(more)}"
    more = {"skips": skips, "shuffle": True, **more}
    first = trainer(DataLoader, folder, steps, **more)
    first.train()
    checkpoint = Path(folder) / f"checkpoint-{steps}"
    saved = None if skips else checkpoint / "loader.json"
    rest = trainer(DataLoader, folder, saved=saved, **more)
    rest.train(resume_from_checkpoint=str(checkpoint))
    seen = [row for rows in first.model.seen + rest.model.seen for row in rows]
    epochs = seen[:12], seen[12:]
    return rest.state.global_step, [sorted(map(epoch.count, range(12))) for epoch in epochs]


if __name__ == "__main__":
    run(main)
