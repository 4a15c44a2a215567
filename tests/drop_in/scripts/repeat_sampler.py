"""Loaders that never end their workers: the subclasses of ultralytics and timm."""

from loaders import batches, run
from torch.utils.data import Dataset


class Rows(Dataset):
    def __len__(self):
        return 7

    def __getitem__(self, row):
        return row


class _RepeatSampler:
    """Repeats for ever."""

    def __init__(self, sampler):
        self.sampler = sampler

    def __iter__(self):
        while True:
            yield from iter(self.sampler)


def classes(DataLoader):
    class InfiniteDataLoader(DataLoader):
        """ultralytics/data/build.py."""

        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            object.__setattr__(self, "batch_sampler", _RepeatSampler(self.batch_sampler))
            self.iterator = super().__iter__()

        def __len__(self):
            return len(self.batch_sampler.sampler)

        def __iter__(self):
            for _ in range(len(self)):
                yield next(self.iterator)

        def __del__(self):
            try:
                if not hasattr(self.iterator, "_workers"):
                    return
                for w in self.iterator._workers:
                    if w.is_alive():
                        w.terminate()
                self.iterator._shutdown_workers()
            except Exception:
                pass

        def reset(self):
            self.iterator = self._get_iterator()

    class MultiEpochsDataLoader(DataLoader):
        """timm/data/loader.py."""

        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self._DataLoader__initialized = False
            self.batch_sampler = _RepeatSampler(self.batch_sampler)
            self._DataLoader__initialized = True
            self.iterator = super().__iter__()

        def __len__(self):
            return len(self.batch_sampler.sampler)

        def __iter__(self):
            for _ in range(len(self)):
                yield next(self.iterator)

    return InfiniteDataLoader, MultiEpochsDataLoader


def main(DataLoader):
    for cls in classes(DataLoader):
        for workers in ({"num_workers": 2}, {"num_workers": 0}):
            loader = cls(Rows(), batch_size=3, **workers)
            for epoch in range(3):
                print(cls.__name__, workers, epoch, len(loader), batches(loader))
            if hasattr(loader, "reset"):
                next(iter(loader))
                loader.reset()
                print("reset", batches(loader))
            shuffled = cls(Rows(), batch_size=3, shuffle=True, **workers)
            passes = [sorted(n for b in shuffled for n in b.tolist()) for _ in range(2)]
            print("shuffled", passes)


if __name__ == "__main__":
    run(main)
