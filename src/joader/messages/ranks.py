"""Messages about the ranks of one job that run on several nodes.

The node of rank 0 plans for all (the *host*); every other node passes on what its ranks say, and is
told which steps come and when a rank may have one. Rows are read and prepared on the rank's own
node. `job` is what the rank's own node calls it, `number` its pass.

rank → host   Enter, Begin, Know, Want, Leave
host → rank   Assign           which ranks are where, for steps of a version
host → rank   Steps            what comes next, of all ranks
host → rank   Grant            all know it, so the rank may have it
host → rank   Disband          the ranks meet again: one of the nodes is gone
host → rank   Refuse           why the rank cannot be served
rank → host   AskRanks         what does it wait for? answered by Ranks
"""

import msgspec

from joader.messages.fields import NONE, Array, Job, Message, Naturals, Text, Word
from joader.messages.joint import Bring, Draw, Drew
from joader.messages.nodes import Beat
from joader.messages.reading import Begin, Know, Leave, Refuse, Want

# Seed, nonce, group and number of a generation: see sampling/generation.py.
Course = tuple[Word, Word, Word, Word]


class Enter(Message, frozen=True):
    """A rank joins its team; `data` is of what it reads, and how: the same for all ranks."""

    job: Job
    team: Text
    rank: int
    world_size: int
    batch_size: int
    drop_last: bool
    data: bytes


class Piece(msgspec.Struct, frozen=True, array_like=True):
    """A step of all ranks, as small as it can be said.

    `spans`: places of a generation's order, as pairs of a first place and a count. Or `rows`, which
    are positions. The last `repeated` of them fill the step up. With a version the rows of the step
    are assigned to ranks as the Assign of that version says, without in the order given.
    """

    spans: Naturals = ()
    course: Course | None = None
    rows: Array = NONE
    repeated: int = 0
    version: int = 0
    life: Word = 0  # of another daemon that has drawn it; 0: the host has


class Assign(Message, frozen=True):
    """Steps of this version are assigned so; `members` is the version of the cluster's members.

    Nodes with their cores, those that can prepare the recipe, the salt of their homes, and for each
    rank the place of its node in `nodes`.
    """

    job: Job
    version: int
    members: int
    nodes: tuple[tuple[Text, int], ...]
    able: tuple[Text, ...]
    salt: Word
    node_of_rank: Naturals


class Steps(Message, frozen=True):
    """Tell a rank the next steps of its pass, the first by its number, and where keys start."""

    job: Job
    number: int
    first: int
    pieces: tuple[Piece, ...]
    key: Word
    life: Word = 0


class Grant(Message, frozen=True):
    """A rank may have its part of the step of this number."""

    job: Job
    number: int
    step: int


class Disband(Message, frozen=True):
    """All ranks of a team must join again; none is refused."""

    job: Job
    reason: Text = ""


class AskRanks(Message, frozen=True):
    """Ask which ranks a rank waits for."""

    job: Job


class Ranks(Message, frozen=True):
    """Say which ranks a rank waits for, and whether all are here."""

    job: Job
    text: Text
    all_here: bool


FromRank = Enter | Begin | Know | Want | Leave | AskRanks | Disband
ToRank = Assign | Steps | Grant | Disband | Refuse | Ranks
# Jobs that draw jointly speak over such lines, too: see joint.py.
OnLine = FromRank | ToRank | Bring | Draw | Drew | Beat

__all__ = [
    "AskRanks",
    "Assign",
    "Course",
    "Disband",
    "Enter",
    "FromRank",
    "Grant",
    "OnLine",
    "Piece",
    "Ranks",
    "Steps",
    "ToRank",
]
