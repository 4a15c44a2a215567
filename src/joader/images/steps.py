"""Several steps, one after the other, on one sample."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, TypeAlias

from joader.errors import BadArgument
from joader.images import libraries
from joader.images.pixels import Shape, pixels, put
from joader.images.sample import image_of, with_image
from joader.images.step import Step

AnyStep: TypeAlias = Step | Callable[[Any], Any]


@dataclass(frozen=True)
class Steps:
    """Steps in their order, as one: callable, picklable, without state.

    Any function of a sample may be among them. Since its effect is unknown, it counts as random and
    its output's shape as unknown.
    """

    steps: Sequence[AnyStep]

    def __post_init__(self) -> None:
        """Keep a tuple, so that it cannot be changed."""
        object.__setattr__(self, "steps", tuple(self.steps))
        for step in self.steps:
            if not callable(step):
                raise BadArgument(
                    f"{step!r} cannot be called; a step must be a function of a sample"
                )

    def __call__(
        self,
        sample: Any,
        rng: Random | None = None,
        out: Any = None,
        begins: Callable[[int], None] | None = None,
    ) -> Any:
        """Apply all steps to a sample; the final image is in `out`, if given.

        `begins` is called with the number of each step before it runs.
        """
        return apply(self.steps, sample, rng, out, begins)

    @property
    def random(self) -> bool:
        """Whether two runs on one sample may differ."""
        return any(is_random(step) for step in self.steps)

    def shape(self, shape: Shape | None = None) -> Shape | None:
        """Return the shape of the output image from that of the input; None: unknown."""
        for step in self.steps:
            shape = step.shape(shape) if isinstance(step, Step | Steps) else None
        return shape

    @property
    def built_in(self) -> bool:
        """Whether no step is a user's function."""
        return all(
            step.built_in if isinstance(step, Steps) else isinstance(step, Step)
            for step in self.steps
        )

    @property
    def dtype(self) -> str | None:
        """The type of the output image; None: unknown."""
        last = self.steps[-1] if self.steps else None
        return last.dtype if isinstance(last, Step | Steps) else None

    @property
    def libraries(self) -> tuple[str, ...]:
        """What the first use may import."""
        known = (step for step in self.steps if isinstance(step, Step | Steps))
        return tuple(sorted({name for step in known for name in step.libraries}))

    def split(self) -> tuple["Steps", "Steps"]:
        """Return the steps before the first random one, which can be shared, and the others."""
        end = next((n for n, step in enumerate(self.steps) if is_random(step)), len(self.steps))
        return Steps(self.steps[:end]), Steps(self.steps[end:])

    def warm_up(self) -> None:
        """Import now what the first sample would import: up to 3 s if torch is installed."""
        libraries.warm_up(self.libraries)


def apply(
    steps: Iterable[AnyStep],
    sample: Any,
    rng: Random | None = None,
    out: Any = None,
    begins: Callable[[int], None] | None = None,
) -> Any:
    """Apply steps to a sample in their order; the final image is in `out`, if given."""
    ordered = tuple(steps)
    for number, step in enumerate(ordered):
        is_last = number == len(ordered) - 1
        place = out if is_last else None
        if begins is not None:
            begins(number)
        if isinstance(step, Step | Steps):
            sample = step(sample, rng, place)
        else:
            sample = step(sample)
            if place is not None:
                sample = with_image(sample, put(pixels(image_of(sample), step), place))
    return sample


def is_random(step: AnyStep) -> bool:
    """Return whether a step may give another result each time; unknown functions count."""
    return bool(getattr(step, "random", True))
