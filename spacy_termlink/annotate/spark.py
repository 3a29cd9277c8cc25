"""Spark: notes of a DataFrame in, a DataFrame of annotations out. Needs the extra `spark`."""

import atexit
import re
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Union

import pyarrow as pa

from ..errors import TermlinkError
from .engine import (
    Pipeline,
    Task,
    annotate_slices,
    load_once,
    make_task,
    missing,
    result_fields,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def annotate(
    df: "DataFrame", pipeline: Pipeline, text: str = "text", id: str = "id", *, rejects: bool = False  # noqa: A002
) -> "DataFrame":  # fmt: skip
    """Annotate the notes of a DataFrame: what `termlink annotate` writes for the same notes.

    Each Python worker loads the pipeline once, at its first batch, and works with one thread. Ids are
    to be unique: `check_ids` looks, this does not.

    df (DataFrame): Notes. Columns other than text and id are repeated in every row of their note.
    pipeline (Pipeline): KB folders, or one saved pipeline. A path that every worker sees, or the name
        (the last part of the path) of what was sent to them by `addFile`, `addArchive` or `ship`.
    text, id (str): Columns of the text (string) and of the id (string or integer).
    rejects (bool): Without it, notes that cannot be annotated have no row, as notes without a mention
        have none. With it, each has one row, with the reason in `reject`, `reject_component` and
        `reject_error` and null in the columns of a mention.
    RETURNS (DataFrame): One row per mention and KB: the columns of `core.ANNOTATIONS`, those of the
        rejects where asked for, those carried through.
    RAISES (TermlinkError): TL004 without pyspark; TL860 to TL862 for columns that are missing, there
        twice or of another type. In the workers: what `load_pipeline` raises, TL811.
    """
    try:
        from pyspark.sql.pandas.types import from_arrow_schema
        from pyspark.sql.types import StructType
    except ImportError as error:
        raise missing(error, "spark") from error
    task = make_task(pipeline, df.columns, text=text, id=id, rejects=rejects)
    _check_types(df, task)
    fields = from_arrow_schema(pa.schema(result_fields(task))).fields
    schema = StructType([*fields, *(df.schema[name] for name in task.carry)])
    names = [id, text, *task.carry]
    # mapInArrow does not find a column with a dot in its name: they go by number
    numbered = df.select(*(df[_quoted(name)].alias(f"c{i}") for i, name in enumerate(names)))
    return numbered.mapInArrow(_Work(task, names), schema)


def ship(spark: "SparkSession", path: Union[str, Path]) -> str:
    """Send a KB or pipeline folder of the driver's machine to every executor, packed.

    The archive lies in a temporary folder of the driver until the driver ends.

    spark (SparkSession): The session; its context takes the archive.
    path (Union[str, Path]): The folder. Two of the same name cannot be sent.
    RETURNS (str): Its name on the workers, to pass to `annotate`.
    RAISES (TermlinkError): TL001 if there is no such folder.
    """
    folder = Path(path).resolve()
    if not folder.is_dir():
        raise TermlinkError("TL001", path=path)
    place = tempfile.mkdtemp(prefix="termlink-")
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    name = re.sub(r"[^0-9A-Za-z._-]", "_", folder.name)  # Spark reads it as part of an address
    archive = Path(place) / f"{name}.tar"
    # not compressed, vectors and weights would not get smaller; no entry "./", Hadoop refuses it
    with tarfile.open(archive, "w") as file:
        for inside in sorted(folder.iterdir()):
            file.add(inside, arcname=inside.name)
    spark.sparkContext.addArchive(f"{archive}#{name}")
    return name


def check_ids(df: "DataFrame", id: str = "id") -> None:  # noqa: A002
    """Refuse ids that stand on several notes; `termlink annotate` rejects all notes but the first of
    them, and a DataFrame has no first. Shuffles the ids.

    df (DataFrame): Notes.
    id (str): Column of the id; null is no id.
    RAISES (TermlinkError): TL863.
    """
    ids = df.select(df[_quoted(id)].alias("id")).where("id is not null")
    if n := ids.groupBy("id").count().where("count > 1").count():
        raise TermlinkError("TL863", n=n)


class _Work:
    """What a Python worker does; sent to it by pickle."""

    def __init__(self, task: Task, names: list[str]) -> None:
        self._task = task
        self._names = names

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        nlp = None
        for batch in batches:  # a partition without a note needs no pipeline
            nlp = nlp or load_once(tuple(_find(path) for path in self._task.pipeline))
            named = pa.RecordBatch.from_arrays(batch.columns, names=self._names)
            yield from annotate_slices(self._task, nlp, named)


def _find(path: str) -> str:
    """A path as this worker sees it: on its own machine, or among the files sent to it."""
    from pyspark import SparkFiles

    sent = Path(SparkFiles.get(Path(path).name))
    return path if Path(path).exists() or not sent.exists() else str(sent)


def _check_types(df: "DataFrame", task: Task) -> None:
    from pyspark.sql.types import IntegralType, StringType

    for name, what, types, wanted in (
        (task.text, "text", StringType, "strings"),
        (task.id, "id", (StringType, IntegralType), "strings or whole numbers"),
    ):
        found = df.schema[name].dataType
        if not isinstance(found, types):
            raise TermlinkError(
                "TL862", name=name, found=found.simpleString(), what=what, wanted=wanted
            )


def _quoted(name: str) -> str:
    """A column's name as Spark takes it for one, whatever dots are in it."""
    return "`" + name.replace("`", "``") + "`"
