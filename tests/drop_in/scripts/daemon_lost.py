"""joader's daemon is killed in mid-epoch, with the iterator kept in a name (reliability, D2 a)."""

import os
import signal
import socket
import struct

from loaders import run
from torch.utils.data import Dataset


class Rows(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, row):
        return row


def kill_daemon():
    with socket.socket(socket.AF_UNIX) as sock:
        try:
            sock.connect(os.path.join(os.environ["JOADER_RUNTIME"], "daemon.sock"))
        except OSError:
            return  # torch has none
        peer = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    os.kill(struct.unpack("3i", peer)[0], signal.SIGKILL)


def main(DataLoader):
    for workers in (2, 0):
        loader = DataLoader(Rows(), batch_size=4, num_workers=workers)
        for epoch in range(4):
            it, seen = iter(loader), []
            for step, batch in enumerate(it):
                seen += batch.tolist()
                if epoch == 1 and step == 5:
                    kill_daemon()
            print(workers, epoch, seen)


if __name__ == "__main__":
    run(main)
