"""The Hugging Face Trainer, with `get_train_dataloader` overridden, and a resume in mid-epoch."""

import os
import warnings

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


def trainer(DataLoader, folder, steps=-1):
    class Loading(Trainer):
        def get_train_dataloader(self):
            return DataLoader(self.train_dataset, batch_size=4, num_workers=2)

    arguments = TrainingArguments(
        output_dir=folder,
        num_train_epochs=2,
        max_steps=steps,
        save_strategy="steps",
        save_steps=2,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
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


if __name__ == "__main__":
    run(main)
