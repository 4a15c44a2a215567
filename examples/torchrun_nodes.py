"""torchrun on two nodes, with and without Ray; here both "nodes" are on this machine.

    python examples/torchrun_nodes.py [FOLDER] [--ray]    # --ray: daemons that Ray has started

On real machines: `joader up -d --cluster auto` on each, or `joader up --ray` once, then torchrun.
Needs: pip install '.[torch,images]', in the clone; with --ray '.[torch,images,ray]'.
"""

import os
import secrets
import socket
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import example_images
from raylets import joader, three_nodes


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


@contextmanager
def two_nodes():
    """Yield the environment of each node's processes: daemons that know one address."""
    key, leader = secrets.token_hex(), f"127.0.0.1:{free_port()}"
    with tempfile.TemporaryDirectory() as folder:
        nodes = {}
        for name in ("node0", "node1"):
            own = {"JOADER_NODE": name, "JOADER_RUNTIME": str(Path(folder, name))}
            nodes[name] = {**os.environ, **own, "JOADER_CLUSTER_KEY": key}
        try:
            for own in nodes.values():
                joader("up", "-d", "--no-dashboard", f"--cluster={leader}", env=own)
            yield nodes
        finally:
            for own in nodes.values():
                joader("down", "--force", env=own)


def main():
    with_ray = "--ray" in sys.argv
    sys.argv = [word for word in sys.argv if word != "--ray"]
    folder = example_images.folder().absolute()
    script = str(Path(__file__).with_name("ddp_over_nodes.py"))
    port = free_port()
    with three_nodes() if with_ray else two_nodes() as nodes:
        launch = [sys.executable, "-m", "torch.distributed.run", "--nnodes=2", "--nproc-per-node=1"]
        launch += [f"--master-port={port}", "--master-addr=127.0.0.1"]
        ranks = [
            subprocess.Popen([*launch, f"--node-rank={rank}", script, folder], env=nodes[name])
            for rank, name in enumerate(("node0", "node1"))
        ]
        try:
            assert [rank.wait() for rank in ranks] == [0, 0]
        finally:
            for rank in ranks:
                rank.terminate()
                rank.wait()
        print(joader("status", env=nodes["node0"]))


if __name__ == "__main__":
    main()
