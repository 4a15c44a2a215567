"""What is measured of models."""

from papers.models.runs import Architecture, Operation


def test_flops_of_a_model_are_those_of_all_its_operations() -> None:
    layers = (Operation(3, 10.0, 1.0, 1.0), Operation(2, 100.0, 5.0, 7.0))
    assert Architecture("a", 1000, layers).flops == 230.0
