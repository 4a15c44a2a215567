"""`multiprocessing_context=`, by name and as an object, other than the default."""

import multiprocessing

from loaders import batches, run
from torch.utils.data import Dataset

SET_BY_THE_JOB = 0


class Rows(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, row):
        return row, SET_BY_THE_JOB  # 0 where the script is imported anew, as torch has it


def main(DataLoader):
    global SET_BY_THE_JOB
    SET_BY_THE_JOB = 7
    for method in ("fork", "forkserver", "spawn"):
        for context in (method, multiprocessing.get_context(method)):
            loader = DataLoader(
                Rows(), batch_size=4, num_workers=1, multiprocessing_context=context
            )
            print(method, batches(loader))
            if method == "spawn":
                break  # a second and a half each


if __name__ == "__main__":
    run(main)
