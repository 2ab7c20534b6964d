"""smallpond: rows of a Parquet file are repartitioned, mapped and filtered with SQL."""

import os
import sys
import tempfile

import pyarrow as pa
import pyarrow.parquet as parquet
import smallpond

if __name__ == "__main__":
    results, sys.stdout = sys.stdout, sys.stderr  # the library logs to the standard output
    with tempfile.TemporaryDirectory() as folder:
        table = pa.table({"ticker": [f"T{i % 7}" for i in range(1000)], "price": [i % 91 for i in range(1000)]})
        parquet.write_table(table, os.path.join(folder, "prices.parquet"))
        session = smallpond.init(data_root=os.path.join(folder, "root"))
        prices = session.read_parquet(os.path.join(folder, "prices.parquet")).repartition(3, hash_by="ticker")
        ends = session.partial_sql("SELECT ticker, min(price) lo, max(price) hi FROM {0} GROUP BY ticker", prices)
        print(ends.to_pandas().sort_values("ticker").to_string(index=False), file=results)
        doubled = prices.map("ticker, price * 2 AS twice").filter("twice > 170")
        print(doubled.count(), sorted({row["twice"] for row in doubled.take_all()}), file=results)
