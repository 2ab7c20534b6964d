"""Values of widely used libraries: tables and frames in shared memory, models, applications."""

from __future__ import annotations

import sys
from typing import Any, Generic, TypeVar

import numpy as np
from casebook import attempt, case

T = TypeVar("T")
SIZE = 200_000


def start(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


@case
def arrow_tables(ray: Any) -> None:
    import pyarrow as pa

    table = pa.table({"n": np.arange(SIZE), "f": np.ones(SIZE), "s": ["a", "bc"] * (SIZE // 2)})
    ref = ray.put(table)
    x, y = ray.get(ref), ray.get(ref)
    print(type(x).__name__, x.equals(table), x.schema == table.schema)
    print(
        [
            bx.address == by.address
            for cx, cy in zip(x.columns, y.columns, strict=True)
            for bx, by in zip(cx.chunk(0).buffers(), cy.chunk(0).buffers(), strict=True)
            if bx
        ]
    )
    print(x["n"].chunk(0).to_numpy().flags.writeable, x.num_rows)
    total = ray.remote(lambda t: (t.num_rows, t["f"].chunk(0).to_numpy().sum()))
    print(ray.get(total.remote(table)), ray.get(total.remote(ref)))


@case
def arrow_slices_and_batches(ray: Any) -> None:
    import pyarrow as pa

    table = pa.table({"n": np.arange(SIZE)})
    part = ray.get(ray.put(table.slice(10, 5)))
    print(part.num_rows, part["n"].to_pylist())
    batch = table.to_batches()[0]
    back = ray.get(ray.put(batch))
    print(type(back).__name__, back.equals(batch))
    array = ray.get(ray.put(pa.array([1, None, 3])))
    print(array.to_pylist(), array.null_count, ray.get(ray.put(pa.schema([("a", pa.int8())]))))
    print(
        ray.get(ray.put(pa.py_buffer(b"abc"))).to_pybytes(), ray.get(ray.put(pa.chunked_array([[1], [2]]))).num_chunks
    )
    nested = ray.get(ray.put({"t": table, "list": [batch]}))
    print(nested["t"].num_rows, nested["list"][0].num_rows)


@case
def frames(ray: Any) -> None:
    import pandas as pd

    frame = pd.DataFrame({"a": np.arange(SIZE), "b": np.ones(SIZE), "c": np.arange(SIZE) * 2})
    ref = ray.put(frame)
    x, y = ray.get(ref), ray.get(ref)
    print(type(x).__name__, x.equals(frame), [start(x[c].to_numpy()) == start(y[c].to_numpy()) for c in x])
    print([x[c].to_numpy().flags.writeable for c in x], x.index.equals(frame.index))

    def write(f: Any) -> None:
        f.iloc[0, 0] = 5

    attempt("write", lambda: write(x))
    copy = x.copy()
    write(copy)
    print(copy.iloc[0, 0], x.iloc[0, 0])
    print(ray.get(ray.remote(lambda f: (f["a"].sum(), f.shape)).remote(frame)))


@case
def frames_with_all_kinds_of_columns(ray: Any) -> None:
    import pandas as pd

    frame = pd.DataFrame(
        {
            "text": ["x", "y", None],
            "when": pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-03"]),
            "kind": pd.Categorical(["a", "b", "a"]),
            "flag": [True, False, True],
            "maybe": pd.array([1, None, 3], dtype="Int64"),
            "zone": pd.to_datetime(["2024-01-01"] * 3).tz_localize("UTC"),
        },
        index=pd.MultiIndex.from_tuples([(1, "a"), (1, "b"), (2, "a")], names=["i", "j"]),
    )
    back = ray.get(ray.put(frame))
    print(back.equals(frame), [str(t) for t in back.dtypes], list(back.index.names))
    series = ray.get(ray.put(frame["when"]))
    print(
        type(series).__name__,
        series.equals(frame["when"]),
        ray.get(ray.put(frame.groupby("kind", observed=True)["flag"].sum())).to_dict(),
    )
    print(ray.get(ray.put(pd.Timestamp("2024-01-01"))), ray.get(ray.put(pd.NaT)), ray.get(ray.put(pd.NA)))


@case
def models(ray: Any) -> None:
    import pydantic

    class Inner(pydantic.BaseModel):
        x: int = 1

    class Model(pydantic.BaseModel):
        name: str
        inner: Inner = Inner()
        items: list[int] = []
        _hidden: int = pydantic.PrivateAttr(default=7)

        @pydantic.field_validator("name")
        @classmethod
        def check(cls, value: str) -> str:
            return value.upper()

    model = Model(name="a", items=[1, 2])
    model._hidden = 9
    back = ray.get(ray.put(model))
    print(back == model, back._hidden, back.model_dump(), type(back) is Model)
    there = ray.remote(
        lambda m: (m.name, m.inner.x, m._hidden, type(m).__name__, m.model_fields_set == {"name", "items"})
    )
    print(ray.get(there.remote(model)))
    print(ray.get(ray.remote(lambda m: m(name="made").model_dump()).remote(Model)))
    made = ray.get(ray.remote(lambda: Model(name="in a task")).remote())
    print(made.name, made._hidden, isinstance(made, Model))

    def fails() -> None:
        Model()

    try:
        ray.get(ray.remote(fails).remote())
    except Exception as error:
        print(
            isinstance(error, ray.exceptions.RayTaskError), type(error.cause).__name__, "Field required" in str(error)
        )


@case
def generic_and_frozen_models(ray: Any) -> None:
    import pydantic

    class Box(pydantic.BaseModel, Generic[T]):
        content: T

    class Frozen(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(frozen=True, arbitrary_types_allowed=True, extra="allow")
        array: np.ndarray

    attempt("generic", lambda: ray.get(ray.put(Box[int](content=3))).content)
    attempt("generic in a task", lambda: ray.get(ray.remote(lambda b: b.content).remote(Box[int](content=3))))
    attempt("plain generic", lambda: ray.get(ray.put(Box(content="x"))).content)
    frozen = ray.get(ray.put(Frozen(array=np.arange(3), more=5)))
    print(frozen.array.tolist(), frozen.more)
    attempt("change", lambda: setattr(frozen, "more", 6))

    @pydantic.dataclasses.dataclass
    class Data:
        x: int

    print(ray.get(ray.put(Data(x="5"))).x, ray.get(ray.remote(lambda d: d.x).remote(Data(x=1))))


@case
def models_as_members(ray: Any) -> None:
    import pydantic

    class Config(pydantic.BaseModel):
        rate: float = 0.5

    @ray.remote
    class Service:
        def __init__(self, config: Config) -> None:
            self.config = config

        def rate(self) -> float:
            return self.config.rate

        def change(self, config: Config) -> Config:
            return config.model_copy(update={"rate": config.rate * 2})

    service = Service.remote(Config(rate=2))
    print(ray.get(service.rate.remote()), ray.get(service.change.remote(Config())).rate)


@case
def applications(ray: Any) -> None:
    import fastapi

    app = fastapi.FastAPI(title="t")

    @app.get("/x")
    def x() -> int:
        return 1

    back = ray.get(ray.put(app))
    print(type(back).__name__, back.title, sorted({r.path for r in back.routes} & {"/x"}))


@case
def attrs_classes(ray: Any) -> None:
    import attr

    @attr.s(auto_attribs=True, slots=True, frozen=True)
    class Point:
        x: int
        y: int = 2

    print([ray.get(ray.put(Point(1))) == Point(1), ray.get(ray.remote(lambda p: p.x + p.y).remote(Point(3)))])
    print("pandas" in sys.modules or True)
