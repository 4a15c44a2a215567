"""Three nodes of Ray on this machine, each with a joader daemon of its own: for the Ray examples.

On a real cluster none of this is needed: `joader up --ray` once, anywhere in it.
"""

import os
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

# Without it every trial of Ray Tune has a working folder of its own. Code that reads relative
# paths would then read other files in each, so jobs in different folders do not share.
os.environ["RAY_CHDIR_TO_TRIAL_DIR"] = "0"

# Else a signal would end these examples without what their `finally` ends.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


@contextmanager
def three_nodes(memory="256MiB", cpus=3):
    """Yield the environment of each node's processes; in the end everything is gone."""
    try:
        import ray
        from ray.cluster_utils import Cluster
    except ImportError as error:
        sys.exit(f"{error}; this needs Ray: pip install '.[ray]' 'ray[train,tune]', in the clone")
    from joader import cluster

    here = Cluster()
    with tempfile.TemporaryDirectory() as folder:
        nodes = {}
        for name in ("node0", "node1", "node2"):
            runtime = Path(folder, name)
            runtime.mkdir(mode=0o700)
            variables = {"JOADER_RUNTIME": str(runtime), "JOADER_NODE": name}
            here.add_node(num_cpus=cpus, env_vars=variables)
            nodes[name] = {**os.environ, **variables}
        ray.init(address=here.address)
        try:
            print(f"a daemon on {', '.join(sorted(cluster.start(memory=memory)))}", flush=True)
            yield nodes
        finally:
            cluster.stop()
            for environment in nodes.values():
                joader("down", "--force", env=environment)
            ray.shutdown()
            here.shutdown()


def joader(*words, env):
    """Run `joader ...` on a node, and return what it prints."""
    command = [sys.executable, "-m", "joader", *words]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False).stdout
