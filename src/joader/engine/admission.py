"""Who is admitted: jobs whose share fits beside those before them, once samples have a size."""

from collections.abc import Iterator, Mapping

from joader.engine.reader import Reader
from joader.engine.recipes import Recipe
from joader.errors import more_memory, size_in_words
from joader.messages import Job


def admit(
    recipe: Recipe, readers: Mapping[Job, Reader], capacity_bytes: int
) -> Iterator[tuple[Reader, str]]:
    """Admit the recipe's new jobs, and yield each; with a reason, those that are to be refused.

    Who is refused has to be let go before the next is looked at.
    """
    for reader in list(readers.values()):
        if reader.recipe is not recipe or reader.admitted or not reader.sizes.slot_bytes:
            continue
        others = sum(one.share_bytes for one in readers.values() if one.admitted)
        if others + reader.share_bytes <= capacity_bytes:
            reader.admitted = True
            yield reader, ""
            continue
        yield (
            reader,
            f"job {reader.job} needs {size_in_words(reader.share_bytes)}, two batches of "
            f"{reader.batch_size} samples of {size_in_words(reader.sizes.usual_bytes)}, beside "
            f"{size_in_words(others)} of the jobs before it, and the budget is "
            f"{size_in_words(capacity_bytes)}; {more_memory(others + reader.share_bytes)}, or use "
            "smaller batches",
        )
