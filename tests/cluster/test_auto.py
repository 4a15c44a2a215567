"""Addresses from Slurm and torchrun."""

import pytest

from joader.cluster.auto import auto_address, first_host
from joader.cluster.leader_address import DEFAULT_PORT, Address
from joader.errors import BadArgument


@pytest.mark.parametrize(
    ("nodes", "first"),
    [
        ("gpu1", "gpu1"),
        ("gpu[03-05,9],login1", "gpu03"),
        ("gpu[7,9]", "gpu7"),
        ("a1,b2", "a1"),
        ("rack[1-2]-ib", "rack1-ib"),
    ],
)
def test_the_first_of_slurms_nodes_leads(nodes: str, first: str) -> None:
    assert first_host(nodes) == first


def test_jobs_of_slurm_have_ports_of_their_own() -> None:
    one = auto_address({"SLURM_JOB_NODELIST": "n[1-3]", "SLURM_JOB_ID": "12001"})
    other = auto_address({"SLURM_JOB_NODELIST": "n[1-3]", "SLURM_JOB_ID": "12002"})
    assert one.host == other.host == "n1"
    assert one.port != other.port


def test_torchruns_rendezvous_leads_at_our_port() -> None:
    found = auto_address({"MASTER_ADDR": "10.0.0.7", "MASTER_PORT": "29500"})
    assert found == Address("10.0.0.7", DEFAULT_PORT)


def test_a_leader_that_is_named_goes_before_both() -> None:
    named = {"JOADER_CLUSTER_LEADER": "x:9000", "MASTER_ADDR": "y"}
    assert auto_address(named) == Address("x", 9000)


def test_without_any_of_them_it_says_what_to_give() -> None:
    with pytest.raises(BadArgument, match="SLURM_JOB_NODELIST"):
        auto_address({})


@pytest.mark.parametrize("text", ["", ":1", "host:", "host:0", "host:70000", "host:x"])
def test_an_address_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(BadArgument, match="is not an address"):
        Address.read(text)


def test_a_port_may_be_left_out() -> None:
    assert Address.read("node1") == Address("node1", DEFAULT_PORT)
