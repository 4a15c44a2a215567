"""No `if __name__ == "__main__"`: without workers torch needs none, under spawn either.

The argument is how no workers are asked for: `zero`, or `absent`.
"""

import sys

from loaders import rows, run

NONE = {"num_workers": 0} if sys.argv[1] == "zero" else {}
print("the top of the script runs")


class Rows:
    def __len__(self):
        return 5

    def __getitem__(self, row):
        return row


def main(DataLoader):
    print(rows(DataLoader(Rows(), batch_size=2, **NONE)))


run(main)
