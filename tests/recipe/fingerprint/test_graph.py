"""Digests of graphs against a brute-force model: walking both as far as they go."""

from hypothesis import given, settings
from hypothesis import strategies as st

from joader.recipe.fingerprint.graph import Part, digests, label
from tests.trials import trials


@st.composite
def graphs(draw):
    """Draw (name, children, is a set) for each of a few nodes."""
    count = draw(st.integers(1, 7))
    node = st.tuples(
        st.sampled_from("ab"), st.lists(st.integers(0, count - 1), max_size=3), st.booleans()
    )
    return draw(st.lists(node, min_size=count, max_size=count))


def digested(graph):
    parts = [Part(label(name, is_set), unordered=is_set) for name, _, is_set in graph]
    return digests(parts, [children for _, children, _ in graph])


def walked(graph, node, depth):
    """Write down what can be seen from a node in so many steps."""
    name, children, is_set = graph[node]
    below = [walked(graph, child, depth - 1) for child in children] if depth else []
    return f"{name}{is_set}({','.join(sorted(below) if is_set else below)})"


@settings(deadline=None, max_examples=trials(300, 100))
@given(graph=graphs(), data=st.data())
def test_digests_do_not_depend_on_how_nodes_are_numbered(graph, data):
    order = data.draw(st.permutations(range(len(graph))))
    place = {node: number for number, node in enumerate(order)}
    moved = [
        (graph[node][0], [place[child] for child in graph[node][1]], graph[node][2])
        for node in order
    ]
    before, after = digested(graph), digested(moved)
    assert [after[place[node]] for node in range(len(graph))] == before


@settings(deadline=None, max_examples=trials(300, 100))
@given(graph=graphs(), other=graphs())
def test_nodes_of_equal_digest_look_alike_however_far_one_walks(graph, other):
    seen: dict[bytes, str] = {}
    for one in (graph, other):
        for node, digest in enumerate(digested(one)):
            view = walked(one, node, 5)
            assert seen.setdefault(digest, view) == view


def test_a_change_far_away_in_a_ring_is_seen():
    def ring(names):
        return [(name, [(number + 1) % len(names)], False) for number, name in enumerate(names)]

    found = [digested(ring(names))[0] for names in ("abcdefgh", "abcdefgx", "abcdxfgh", "aaaaaaab")]
    assert len(set(found)) == 4


def test_a_chain_longer_than_the_stack_is_digested():
    chain = [("a", [number + 1], False) for number in range(50_000)] + [("a", [], False)]
    assert len(set(digested(chain))) == len(chain)
