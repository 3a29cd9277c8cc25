"""Ray Data: notes of a Dataset in, a Dataset of annotations out. Needs the extra `ray`."""

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from .engine import Pipeline, Task, annotate_slices, make_task, missing, result_fields
from .parts import PART_NOTES
from .pipelines import load_pipeline

if TYPE_CHECKING:
    from ray.data import Dataset


def annotate(
    ds: "Dataset",
    pipeline: Pipeline,
    text: str = "text",
    id: str = "id",  # noqa: A002
    *,
    rejects: bool = False,
    actors: int = 1,
    batch_size: int = PART_NOTES,
    **options: Any,
) -> "Dataset":
    """Annotate the notes of a Dataset: what `termlink annotate` writes for the same notes.

    A pool of actors works on the batches; each loads the pipeline once. Ids are to be unique, which is
    not looked at here.

    ds (Dataset): Notes. Columns other than text and id are repeated in every row of their note.
    pipeline (Pipeline): KB folders, or one saved pipeline, at a path that every node sees.
    text, id (str): Columns of the text (string) and of the id (string or integer).
    rejects (bool): Give a row for each note that cannot be annotated, too; see `spark.annotate`.
    actors (int): Actors in the pool.
    batch_size (int): Notes that an actor gets at once.
    options (Any): Further arguments of `Dataset.map_batches`: num_cpus, memory, ...
    RETURNS (Dataset): One row per mention and KB, with the columns of `spark.annotate`.
    RAISES (TermlinkError): TL004 without Ray; TL860, TL861 for columns that are missing or there
        twice. In the actors: what `load_pipeline` raises, TL811.
    """
    try:
        from ray.data import ActorPoolStrategy
    except ImportError as error:
        raise missing(error, "ray") from error
    columns = ds.columns()
    if columns is None:  # not a single row, so that nobody knows the columns
        return ds
    task = make_task(pipeline, columns, text=text, id=id, rejects=rejects)
    return ds.map_batches(
        _Actor,
        fn_constructor_args=(task,),
        batch_format="pyarrow",
        batch_size=batch_size,
        compute=ActorPoolStrategy(size=actors),
        **options,
    )


class _Actor:
    """What an actor does."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._nlp = load_pipeline(task.pipeline)

    def __call__(self, notes: pa.Table) -> pa.Table:
        schema = pa.schema(
            [*result_fields(self._task), *(notes.schema.field(name) for name in self._task.carry)]
        )
        found = [
            batch
            for given in notes.to_batches()
            for batch in annotate_slices(self._task, self._nlp, given)
        ]
        return pa.Table.from_batches(found, schema=schema)
