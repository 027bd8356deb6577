"""Encode a text file with Spark, a text a line.

    spark-submit spark_encode.py models/minilm passages.txt vectors.parquet
    python spark_encode.py models/minilm passages.txt vectors.parquet --master 'local-cluster[2,1,1024]'
"""

from __future__ import annotations

import argparse

import cloze.spark


def main() -> None:
    from pyspark.sql import SparkSession  # type: ignore[import-not-found,import-untyped,unused-ignore]

    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("model")
    options.add_argument("texts")
    options.add_argument("output")
    options.add_argument("--master", help="where to run, unless spark-submit says it")
    asked = options.parse_args()
    builder = SparkSession.builder.appName("cloze")
    spark = (builder.master(asked.master) if asked.master else builder).getOrCreate()
    texts = spark.read.text(asked.texts).withColumnRenamed("value", "text").repartition(spark.sparkContext.defaultParallelism)
    vectors = texts.mapInPandas(cloze.spark.encoder(asked.model, normalize=True), "text string, vector array<float>")
    vectors.write.mode("overwrite").parquet(asked.output)
    spark.stop()


if __name__ == "__main__":
    main()
