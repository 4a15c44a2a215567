"""Several iterators of one loader: endless, kept in a name, beside each other, nested."""

from loaders import batches, rows, run
from torch.utils.data import Dataset


class Rows(Dataset):
    def __len__(self):
        return 24

    def __getitem__(self, row):
        return row


def endless(loader, steps):
    """The usual loop of GAN and RL code."""
    it, seen = iter(loader), []
    for _ in range(steps):
        try:
            batch = next(it)
        except StopIteration:
            it = iter(loader)
            batch = next(it)
        seen.extend(batch.tolist())
    return seen


def looked_at_in_mid_epoch(loader):
    """The training accuracy in mid-epoch: the loader is read while it is read (D2 b)."""
    found = []
    for epoch in range(3):
        it, n, seen = iter(loader), 0, 0
        for step, batch in enumerate(it):
            n += len(batch)
            if epoch == 2 and step == 3:
                seen = sum(len(other) for other in loader)
        found.append((n, seen))
    return found


def dropped_while_another_reads(loader):
    a = iter(loader)
    list(a)
    b = iter(loader)
    first = [next(b).tolist()]
    del a
    c = iter(loader)
    first.append(next(c).tolist())
    return first, [x.tolist() for x in b], [x.tolist() for x in c]


def ended_and_asked_again(it):
    list(it)
    answers = []
    for _ in range(3):
        try:
            answers.append(next(it).tolist())
        except StopIteration:
            answers.append("end")
    return answers


def main(DataLoader):
    for workers in (
        {"num_workers": 2},
        {},
        {"num_workers": 0},
        {"num_workers": 1, "persistent_workers": True},
    ):
        loader = DataLoader(Rows(), batch_size=4, **workers)
        print(workers)
        print("endless", endless(loader, 20))
        for epoch in range(3):
            it = iter(loader)
            print("in a name", epoch, batches(it))
        print("ended", ended_and_asked_again(iter(loader)))
        if workers.get("persistent_workers"):
            continue  # torch's iterators are then one and the same
        print("mid-epoch", looked_at_in_mid_epoch(loader))
        print("dropped", dropped_while_another_reads(loader))
        for epoch in range(2):
            pairs = zip(loader, loader)
            print("zip", epoch, [(a.tolist(), b.tolist()) for a, b in pairs])
        nested = [(a[0].item(), sum(len(b) for b in loader)) for a in loader]
        print("nested", nested)
        first = iter(loader)
        next(first)
        print("begun anew", rows(loader), next(first).tolist())
        shuffled = DataLoader(Rows(), batch_size=4, shuffle=True, **workers)
        print("shuffled", sorted(endless(shuffled, 6)), sorted(endless(shuffled, 12)))
        assert len(list(zip(shuffled, shuffled))) == 6


if __name__ == "__main__":
    run(main)
