"""Where the workers of jobs run, and how many processors that is.

Workers have the affinity and the cgroup of their jobs, not of the daemon. A job that does not say
where it runs, runs where the daemon does.
"""

from collections.abc import Mapping

from joader.schedule.work.flow import Home, capacity, home_of


class Homes:
    """Of all crews, by their tickets."""

    def __init__(self, own_cores: int, most_cores: int) -> None:
        """Start with those of the daemon alone, on a machine that has `most_cores`."""
        self._own_cores, self._most_cores = own_cores, max(own_cores, most_cores)
        self._of: dict[str, tuple[str, int]] = {}
        self.places: dict[str, Home] = {}
        self.cores = own_cores  # that can be kept busy in all of them together

    def join(self, ticket: str, name: str, cores: int) -> None:
        """Note where a crew's workers run."""
        self._of[ticket] = (name, cores or self._own_cores)
        self._changed()

    def leave(self, ticket: str) -> None:
        """Forget a crew."""
        if self._of.pop(ticket, None) is not None:
            self._changed()

    @property
    def bounds(self) -> Mapping[str, float]:
        """How many processors each home may use; nothing if there is but one."""
        if len(self.places) < 2:
            return {}
        return {name: home.bound for name, home in self.places.items()}

    def _changed(self) -> None:
        self.places = {name: home_of(name, cores) for name, cores in self._of.values()}
        there = round(capacity(self.places)) if self.places else 0
        self.cores = min(self._most_cores, max(self._own_cores, there))
