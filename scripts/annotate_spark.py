"""Annotate notes on a Spark cluster.

    spark-submit scripts/annotate_spark.py NOTES PIPELINE_OR_KB... -o OUTPUT

NOTES is what Spark reads as .parquet, .json, .jsonl or .csv: a file, a folder, a pattern, an address.
OUTPUT is a new folder with `annotations` and `rejects`. Exit code: 0 every note was annotated, 3 some
were rejected, 2 bad input.
"""

import argparse
import sys

from pyspark import StorageLevel
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from spacy_termlink.annotate.core import ANNOTATIONS
from spacy_termlink.annotate.engine import REJECT_FIELDS
from spacy_termlink.annotate.spark import annotate, check_ids, ship
from spacy_termlink.errors import TermlinkError

SOME_REJECTED = 3


def main() -> int:
    """Run the job."""
    args = parse_args()
    spark = SparkSession.builder.appName("termlink annotate").getOrCreate()
    try:
        notes = read_notes(spark, args)
        check_output(spark, args.output)
        check_ids(notes, args.id)
        pipeline = [ship(spark, path) if args.ship else path for path in args.pipeline]
        return run(notes, pipeline, args)
    except (TermlinkError, AnalysisException) as error:
        sys.stderr.write(f"Error: {str(error).splitlines()[0]}\n")
        return 2
    finally:
        spark.stop()


def parse_args() -> argparse.Namespace:
    """Options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("notes", help="what Spark can read: file, folder, pattern or address")
    parser.add_argument("pipeline", nargs="+", help="KB folders, or one spaCy pipeline")
    parser.add_argument("-o", "--output", required=True, help="new folder")
    parser.add_argument("--text", default="text", help="column of the text (default: text)")
    parser.add_argument("--id", default="id", help="column of the id (default: id)")
    parser.add_argument(
        "--input-format", choices=["parquet", "json", "csv"], help="default: by the suffix"
    )
    parser.add_argument("--format", choices=["parquet", "json"], default="parquet")
    parser.add_argument(
        "--partitions", type=int, help="spread the notes over so many tasks (default: as read)"
    )
    parser.add_argument(
        "--ship", action="store_true", help="send the KBs or the pipeline from here to the workers"
    )
    return parser.parse_args()


def read_notes(spark: SparkSession, args: argparse.Namespace) -> DataFrame:
    """The notes, with the two columns that are used."""
    suffix = args.notes.rstrip("/").rpartition(".")[2].lower()
    kind = args.input_format or {"jsonl": "json", "ndjson": "json"}.get(suffix, suffix)
    if kind not in ("parquet", "json", "csv"):
        raise TermlinkError("TL801", path=args.notes)
    reader = spark.read
    if kind == "csv":
        reader = reader.options(header=True, multiLine=True, quote='"', escape='"')
    notes = reader.format(kind).load(args.notes)
    for name, what in ((args.text, "text"), (args.id, "id")):
        if name not in notes.columns:
            found = ", ".join(f"'{column}'" for column in notes.columns)
            raise TermlinkError("TL860", name=name, found=found, what=what)
    notes = notes.select(notes[f"`{args.id}`"], notes[f"`{args.text}`"])
    return notes.repartition(args.partitions) if args.partitions else notes


def check_output(spark: SparkSession, output: str) -> None:
    """Refuse a folder that is there, before the work and not after it."""
    path = spark.sparkContext._jvm.org.apache.hadoop.fs.Path(output)
    if path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()).exists(path):
        raise TermlinkError("TL002", path=output, kind="new folder")


def run(notes: DataFrame, pipeline: list[str], args: argparse.Namespace) -> int:
    """Annotate once, write both tables, print what was done."""
    n_notes = notes.count()
    found = annotate(notes, pipeline, text=args.text, id=args.id, rejects=True)
    found = found.persist(StorageLevel.DISK_ONLY)
    refused = found.where("reject is not null")
    mentions = found.where("reject is null").select(*ANNOTATIONS.names)
    renamed = [refused[name].alias(field) for name, field in REJECT_FIELDS.items()]
    mentions.write.format(args.format).save(f"{args.output}/annotations")
    refused.select("note_id", *renamed).write.format(args.format).save(f"{args.output}/rejects")
    n_refused = refused.count()
    counts = mentions.groupBy("kb").count().orderBy("kb").collect()
    lines = [
        f"{n_notes:,} notes read, {n_notes - n_refused:,} annotated, {n_refused:,} rejected",
        *(f"{row['kb']}: {row['count']:,} mentions" for row in counts),
        f"annotations: {args.output}/annotations",
    ]
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return SOME_REJECTED if n_refused else 0


if __name__ == "__main__":
    sys.exit(main())
