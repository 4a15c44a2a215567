"""A job's settings: those of its loader's arguments that the daemon acts on.

They are one value from the loader to the code that acts on them; every layer between passes it on
whole. To add one: an argument in `client/loader.py`, its check in `client/arguments.py`, a field
here, and the code that reads it. Not here: what the engine draws by (`Join`), which workers a job
brings and what is known of its dataset (`Register`).
"""

import msgspec

from joader.messages.fields import Text


class JobSettings(msgspec.Struct, frozen=True):
    """What the user asks for; from another process, so the code that acts on a value checks it."""

    name: Text  # for people; jobs of one name are likely to be alike
    weight: float = 1.0  # beside other jobs, if all want more than there is
    lend: bool = True  # its workers prepare for others, too, while they have nothing to do
    locality: bool = False  # ranks on several nodes: each reads what its node has, as far as even
    timeout_s: float = 120.0  # how long a batch may take, and so a row
