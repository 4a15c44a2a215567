"""One vocabulary for all processes: the messages between them, and the events of the engine.

    client  → daemon   Hello            who connects, on the raw socket
    daemon  → client   Welcome          with a descriptor of the arena
    client  → daemon   Register         Join, the job's settings, and which nursery it brings
    daemon  → client   Registered
    daemon  → client   Named            another run of its script has come: what tells them apart
    nursery → client   Born             it is ready, and what the recipe is called there
    client  → nursery  Attend           serve this daemon
    nursery → daemon   Hello            by the ticket that the job has registered
    daemon  → nursery  Bear             fork a worker: there is something to do
    worker  → daemon   Hello            by the same ticket; its Welcome brings arena and desk
    nursery → daemon   Ended            how a worker's process ended
    daemon  → nursery  Slay             kill a worker that the daemon cannot reach
    nursery → either   Unborn           why it cannot serve
    client  → daemon   Begin            an epoch begins, or resumes after what is done
    daemon  → client   Announce         of a rank: the next steps, answered by
    client  → daemon   Know             … because none is handed out before all ranks know it
    client  → daemon   Want             as many ahead as the client likes
    daemon  → worker   Prepare          rows to prepare, and the slots they go to
    daemon  → worker   Finish           a job's own part, on samples that are prepared or underway
    worker  → daemon   Sized            the slot is too small, or there is none …
    daemon  → worker   Place, Drop      … so here is another, or no job wants it any more
    worker  → daemon   Prepared, Failed
    daemon  → worker   HandBack         it has worked on a row for long: what waits behind it …
    worker  → daemon   NotBegun         … goes to another worker
    daemon  → worker   Compare          prepare a row that another job has, and compare
    worker  → daemon   Compared         … byte by byte
    daemon  → client   Differs          they are not the same, so nothing is shared
    daemon  → client   Deliver          where the samples of the next batch lie
    client  → daemon   Release          copied: the slots may be used again
    daemon  → client   Refuse           why this job cannot be served

At any time AskWhy → Why (what a late batch waits for), AskExplain → Explained, AskStatus → Status,
AskRun → Run (figures with their history), Change → Status (another policy, or another weight of a
job), Meet → Status (join a cluster). A process that only asks says Hello as a watcher.

The engine takes the same values as *events* and gives them as *instructions*. Some are never sent:
`schedule` finds out Lost and Late; the daemon says Leave (a job is gone), Inspect (compare a job's
workers first), Hear (how far jobs on other nodes are), LastCopies (a node has gone), Moved (another
node keeps these samples now), Reassign (ranks get other parts of the coming steps), Couple
and Uncouple (another node draws for a job, or does not any more), and Forget is an instruction for
it alone (these samples are gone). At the edge the daemon adds what the engine does not know: who
speaks (`job`), when (`now`), the number of the pass, and layouts. A *sample* is the number of one
prepared form of a row; jobs with equal preparations of equal rows speak of equal samples. Lists of
samples are parallel: `rows[i]` is the row of `samples[i]`.

No code is sent, and no pickle reaches the daemon: workers are forked by the job that has the code.
Arrays are of int64, and are sent as bytes. A layout is named by a number that the daemon gives it;
the first batch with a new number brings the layout itself.

Reading order: `fields` (what messages are made of), `greetings`, `births` (connecting, starting),
`settings` and `reading` (job and daemon), `work` (what workers do), `questions` (what people ask),
`nodes`, `ranks` and `joint` (what daemons on other machines say; imported from there).
"""

from joader.messages.births import Attend, Bear, Born, Ended, Slay, Unborn
from joader.messages.fields import (
    MY_JOB,
    PROTOCOL,
    Array,
    Job,
    Message,
    Natural,
    PlannedStep,
    Text,
    Word,
    as_bytes,
    from_bytes,
)
from joader.messages.greetings import Hello, Stop, Welcome
from joader.messages.joint import Couple, Drew, Uncouple
from joader.messages.questions import (
    AskExplain,
    AskRun,
    AskStatus,
    AskWhy,
    Change,
    Differs,
    Explained,
    Meet,
    Run,
    Status,
    Why,
)
from joader.messages.ranks import Grant, Steps
from joader.messages.reading import (
    Announce,
    Begin,
    Deliver,
    Hear,
    Join,
    Know,
    Leave,
    Named,
    Reassign,
    Refuse,
    Register,
    Registered,
    Release,
    Want,
)
from joader.messages.settings import JobSettings
from joader.messages.work import (
    Compare,
    Compared,
    Drop,
    Failed,
    Finish,
    Forget,
    HandBack,
    Inspect,
    LastCopies,
    Late,
    Lost,
    Moved,
    NotBegun,
    Place,
    Prepare,
    Prepared,
    Sized,
)

Asks = AskStatus | AskRun | AskExplain | Change | Meet
Answers = Status | Run | Explained
FromClient = Register | Begin | Know | Want | Release | AskWhy | Asks | Stop
ToClient = Registered | Named | Announce | Deliver | Differs | Refuse | Why | Answers
ToWorker = Prepare | Finish | Compare | Place | Drop | HandBack | Stop
FromWorker = Prepared | Sized | Failed | Compared | NotBegun
ToNursery = Bear | Slay | Stop
FromNursery = Ended | Unborn | Stop
ToChild = Attend | Stop  # from the job to its nursery
FromChild = Born | Unborn

Event = (
    Join
    | Begin
    | Want
    | Know
    | Prepared
    | Sized
    | Failed
    | Lost
    | Late
    | Inspect
    | Compared
    | Release
    | Leave
    | Hear
    | LastCopies
    | Moved
    | Reassign
    | Couple
    | Uncouple
    | Drew
)
Instruction = (
    Prepare
    | Finish
    | Compare
    | Place
    | Drop
    | Deliver
    | Announce
    | Steps
    | Grant
    | Drew
    | Refuse
    | Forget
)

__all__ = [
    "MY_JOB",
    "PROTOCOL",
    "Announce",
    "Answers",
    "Array",
    "AskExplain",
    "AskRun",
    "AskStatus",
    "AskWhy",
    "Asks",
    "Attend",
    "Bear",
    "Begin",
    "Born",
    "Change",
    "Compare",
    "Compared",
    "Couple",
    "Deliver",
    "Differs",
    "Drew",
    "Drop",
    "Ended",
    "Event",
    "Explained",
    "Failed",
    "Finish",
    "Forget",
    "FromChild",
    "FromClient",
    "FromNursery",
    "FromWorker",
    "Grant",
    "HandBack",
    "Hear",
    "Hello",
    "Inspect",
    "Instruction",
    "Job",
    "JobSettings",
    "Join",
    "Know",
    "LastCopies",
    "Late",
    "Leave",
    "Lost",
    "Meet",
    "Message",
    "Moved",
    "Named",
    "Natural",
    "NotBegun",
    "Place",
    "PlannedStep",
    "Prepare",
    "Prepared",
    "Reassign",
    "Refuse",
    "Register",
    "Registered",
    "Release",
    "Run",
    "Sized",
    "Slay",
    "Status",
    "Steps",
    "Stop",
    "Text",
    "ToChild",
    "ToClient",
    "ToNursery",
    "ToWorker",
    "Unborn",
    "Uncouple",
    "Want",
    "Welcome",
    "Why",
    "Word",
    "as_bytes",
    "from_bytes",
]
