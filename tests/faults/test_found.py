"""What the crash matrix and the soak have found, each as small as it can be made."""

import asyncio
import os
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from joader.client import births
from joader.engine.values import Deliver, Finish, Late, Prepare
from joader.memory import Arena
from joader.messages import Attend, Bear, Cook, Hello, Stop
from joader.wire import Channel
from joader.workers import nursery
from joader.workers.desk import Desk
from joader.workers.hand import Hand
from joader.workers.link import NurseryLink
from joader.workers.loop import let_go_of_memory
from joader.workers.pool import Pool
from tests.engine.world import World
