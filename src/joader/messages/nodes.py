"""What daemons of one cluster say to each other: who is there, small values, and rows to be sent.

node   → node     Knock            who comes, and for what; both show that they have the key
node   → node     Challenge, Proof, Granted
member → leader   Say              small values that all others are told
leader → member   Members, Said    who is there, and what each has said
member ↔ leader   Beat             somebody is there
node   → home     Ask              rows of a recipe, prepared; `digests` instead of bytes
home   → node     Parcel           which of them come now, and after it their bytes
node   → node     Enough           what a node that leaves hands over is here, as far as it fits
node   → node     AskHeld          which rows it has: some of them live with who asks since then
node   → node     Held
"""

from typing import Annotated

import msgspec

from joader.messages.fields import Array, Message, Natural, Text

# Of a node's small values together: who says more is not one of ours.
Value = Annotated[bytes, msgspec.Meta(max_length=1 << 20)]
Nonce = Annotated[bytes, msgspec.Meta(min_length=16, max_length=64)]

# In place of a sample's size, in a Parcel.
NOT_SENT = -1  # it was not ready in time, or could not be prepared there


class Node(Message, frozen=True):
    """A daemon in a cluster: a name that no other has, and where others get bytes from it.

    `life` is of one process: a daemon that was started again is another node of the same name.
    """

    name: Text
    host: Text
    port: Natural
    cores: Natural = 1
    life: Natural = 0


class Knock(Message, frozen=True):
    """Come to another node, as a "member" to its leader or for "bytes"."""

    joader: Text
    python: Text
    protocol: Natural
    purpose: Text
    node: Node
    nonce: Nonce


class Challenge(Message, frozen=True):
    """Answer a Knock: the challenge that a Proof is made from."""

    nonce: Nonce


class Proof(Message, frozen=True):
    """Show that who knocked has the key."""

    proof: Nonce


class Granted(Message, frozen=True):
    """Let in, and show that who was asked has the key, too."""

    proof: Nonce


class Members(Message, frozen=True):
    """Say who is there; the version grows with every change."""

    version: Natural
    nodes: tuple[Node, ...]
    leader: Text = ""
    nonce: Natural = 0  # of one life of the leader: orders that nodes share start from it


class Say(Message, frozen=True):
    """Have all others told these values; an empty one is taken back."""

    values: dict[Text, Value]


class Said(Message, frozen=True):
    """Pass on what a node has said."""

    node: Text
    values: dict[Text, Value]


class Beat(Message, frozen=True):
    """Say nothing, but in time."""


class Ask(Message, frozen=True):
    """Ask a home for rows of a recipe; it answers with one Parcel of this number, whatever happens.

    `digests`: what their bytes are is asked, not the bytes. What is not there after `patience_s`
    is not waited for. `moves`: these rows live with who asks, so what is ready is sent, and is a
    copy from then on; what is not is neither prepared nor waited for.
    """

    number: Natural
    recipe: Text
    rows: Array
    digests: bool = False
    patience_s: float = 1.0
    moves: bool = False


class Enough(Message, frozen=True):
    """Tell a node that leaves: of what it hands over, nothing more is taken."""


class AskHeld(Message, frozen=True):
    """Ask which rows of a recipe a node has."""

    recipe: Text


class Held(Message, frozen=True):
    """Answer AskHeld, a bit for each row, compressed: those that it keeps, and copies of others."""

    recipe: Text
    kept: bytes
    copies: bytes


class Parcel(Message, frozen=True):
    """Answer an Ask, row by row: sizes, layouts (`layout_of` counts in `layouts`), digests.

    The bytes of all rows follow, in order, unless digests were asked for. Number 0: a sign of life.
    """

    number: Natural
    sizes: tuple[int, ...] = ()
    layouts: tuple[bytes, ...] = ()
    layout_of: tuple[Natural, ...] = ()
    digests: tuple[bytes, ...] = ()
    bytes_per_s: float = 0.0  # what the link carries, as the sender's kernel measures; 0: not known
