"""Messages about jobs that draw jointly although they run on different nodes.

One node draws for all (the *drawer*); every other node says which of its jobs draw with them, and
is told what comes next. Rows are read and prepared on the job's own node. `job` is what that node
calls it, `number` its pass there.

node → drawer   Bring            a job, and all that it may ever read
node → drawer   Draw             a pass of it begins, or goes on there: what is left to be drawn
node → drawer   Want, Leave      it reads so much now; it is gone, or draws elsewhere
drawer → node   Drew             what comes next, a window ahead
drawer → node   Disband          it draws for itself from now on

The engine of the job's node is told Couple, Drew and Uncouple; that of the drawer is told of a job
like others, and says Drew.
"""

from typing import Annotated

import msgspec

from joader.messages.fields import Array, Job, Message, Natural, Text

# A bit for each number, compressed: see sampling numbers in sampling/job_rows.py.
Bits = Annotated[bytes, msgspec.Meta(max_length=1 << 22)]


class Bring(Message, frozen=True):
    """Draw for a job: all numbers that its passes draw, empty for all of the recipe.

    `recipe` is its name on any machine; a row occurs at most `times` in the job.
    """

    job: Job
    recipe: Text
    row_limit: Natural
    batch_size: Natural
    times: Natural = 1
    numbers: Bits = b""


class Draw(Message, frozen=True):
    """Draw these numbers for a job, and none before; empty for all that it has."""

    job: Job
    number: int
    left: Bits = b""


class Drew(Message, frozen=True):
    """A job's next numbers, in order."""

    job: Job
    numbers: Array
    number: int = 0


class Couple(Message, frozen=True):
    """Another node draws the rest of a job's pass from now on."""

    job: Job


class Uncouple(Message, frozen=True):
    """This node draws again what has not come from the other."""

    job: Job
