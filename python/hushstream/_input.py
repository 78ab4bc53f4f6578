"""Frames and arrays as columns of float64, with texts as places in a list.

Nothing here depends on what a value is: a column is read by its type, and every row by itself.
"""

from __future__ import annotations

import datetime
import functools
from typing import Any, NamedTuple

import numpy as np

_EXACT = 2**53


class Table(NamedTuple):
    """Columns side by side, as the native module takes them."""

    names: list[str]
    parts: list[np.ndarray]
    texts: list[list[str] | None]
    rows: int


class Sparse(NamedTuple):
    """A sparse matrix in rows."""

    ends: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    shape: tuple[int, int]


def is_sparse(X: Any) -> bool:
    """Whether this is a sparse matrix of scipy."""
    return hasattr(X, "tocsr") and hasattr(X, "nnz")


def is_frame(X: Any) -> bool:
    """Whether this is a table with named columns: pandas, polars or pyarrow."""
    return hasattr(X, "column_names") or (hasattr(X, "columns") and hasattr(X, "dtypes"))


def frame(X: Any) -> Any:
    """The same rows as a frame, if they come as a stream of Arrow and are no frame themselves.

    pyarrow or polars reads the stream, whichever is installed; columns of numbers are not copied.
    """
    if is_frame(X) or not hasattr(X, "__arrow_c_stream__"):
        return X
    try:
        import pyarrow

        return pyarrow.table(X)
    except ImportError:
        pass
    try:
        import polars

        return polars.DataFrame(X)
    except ImportError:
        raise ImportError(
            "X gives a stream of Arrow, which pyarrow or polars reads: install one of them"
        ) from None


def sparse(X: Any) -> Sparse:
    """A scipy matrix of any kind, in rows with indices in order."""
    rows = X.tocsr()
    if np.iscomplexobj(rows.data):
        raise ValueError("Complex data not supported: give real numbers")
    if not rows.has_sorted_indices:
        rows = rows.sorted_indices()
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    whole = lambda part: np.ascontiguousarray(part, dtype=np.int64)  # noqa: E731
    data = np.ascontiguousarray(rows.data, dtype=np.float64)
    return Sparse(whole(rows.indptr), whole(rows.indices), data, rows.shape)


def feature_names(X: Any) -> list[str] | None:
    """The names of a frame's columns; nothing for arrays."""
    if not is_frame(X):
        return None
    names = list(getattr(X, "column_names", None) or X.columns)
    if not all(isinstance(name, str) for name in names):
        return None
    return names


def table(X: Any, *, estimator: str = "this estimator") -> Table:
    """The columns of a frame or of an array with two dimensions."""
    X = frame(X)
    if is_frame(X):
        names = list(getattr(X, "column_names", None) or X.columns)
        if len(set(map(str, names))) < len(names):
            raise ValueError("two columns have the same name: rename one")
        read = [column(X[name]) for name in names]
        shown = [str(name) for name in names]
        _shaped((len(X), len(names)), estimator)
        return Table(shown, [part for part, _ in read], [text for _, text in read], len(X))
    array = matrix(X, estimator)
    width = array.shape[1]
    return Table(list(_numbered(width)), [array], [None] * width, len(array))


@functools.lru_cache(maxsize=16)
def _numbered(width: int) -> tuple[str, ...]:
    """The names of columns that have none: every batch of a stream asks for them again."""
    return tuple(f"x{place}" for place in range(1, width + 1))


def matrix(X: Any, estimator: str) -> np.ndarray:
    """An array of float64 with two dimensions."""
    array = np.asarray(X)
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: give real numbers")
    if array.dtype.kind in "Mm":
        raise ValueError("an array of dates: give a DataFrame, and state the columns as dates")
    if array.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {_dimensions(array.ndim)} array instead. Reshape your data "
            "using X.reshape(-1, 1) if it has one feature, or X.reshape(1, -1) if it is one sample"
        )
    _shaped(array.shape, estimator)
    return array.astype(np.float64, copy=False)


def _dimensions(count: int) -> str:
    return "a scalar" if count == 0 else f"{count}D"


def _shaped(shape: tuple[int, ...], estimator: str) -> None:
    if shape[1] == 0:
        raise ValueError(
            f"Found array with 0 feature(s) (shape={tuple(shape)}) while a minimum of 1 is "
            f"required by {estimator}."
        )


def column(values: Any) -> tuple[np.ndarray, list[str] | None]:
    """A column as float64, with its texts if the numbers are places in a list of them.

    Values mean what a CSV of the same column means: whole numbers beyond 2**53 are texts, a
    float32 is the number that its shortest text is, and a date has its time of day.

    >>> column(np.array([1, 2], dtype=np.int8))
    (array([1., 2.]), None)
    >>> column(["yes", None, "no"])
    (array([ 0., nan,  1.]), ['yes', 'no'])
    """
    # What Arrow batches are made of first: a worker asks for many of few rows.
    if str(getattr(values, "type", None)) == "double" and hasattr(values, "to_pylist"):
        return values.to_numpy(zero_copy_only=False), None
    coded = _dictionary(values)
    if coded is not None:
        return coded
    array = _array(values)
    if array.ndim != 1:
        raise ValueError("a column has one dimension: give one value per row")
    kind = array.dtype.kind
    if kind == "f":
        if array.dtype == np.float32 or array.dtype == np.float16:
            return array.astype("U32").astype(np.float64), None
        return array.astype(np.float64, copy=False), None
    if kind == "b":
        return array.astype(np.float64), ["False", "True"]
    if kind in "iu":
        if _is_inexact(array):
            return _coded(array.tolist())
        return array.astype(np.float64), None
    if kind == "M":
        times = np.datetime_as_string(array, unit="D" if array.dtype == "M8[D]" else "s")
        return _coded([None if text == "NaT" else text for text in times.tolist()])
    if kind == "c":
        raise ValueError("Complex data not supported: give real numbers")
    return _coded(array.tolist())


def _is_inexact(whole: np.ndarray) -> bool:
    """Whether whole numbers are not exact as float64."""
    return bool(len(whole)) and (int(whole.max()) >= _EXACT or int(whole.min()) <= -_EXACT)


def name_of(person: Any) -> Any:
    """The person of one row, as a column of persons would have it.

    >>> name_of(7), name_of(2**60), name_of("7")
    (7, '1152921504606846976', '7')
    """
    is_whole = isinstance(person, (int, np.integer)) and not isinstance(person, bool)
    return str(person) if is_whole and abs(int(person)) >= _EXACT else person


def _array(values: Any) -> np.ndarray:
    """A column of numpy; objects where there is no better type."""
    if isinstance(values, np.ndarray):
        return values
    dtype = getattr(values, "dtype", None)
    if dtype is not None and hasattr(values, "to_numpy"):
        name = str(dtype)
        if type(values).__module__.startswith("polars"):
            return _of_polars(values, name)
        if getattr(dtype, "kind", "O") in "iu" and hasattr(values, "isna"):
            # Numbers that may be missing come with a type of their own.
            if not isinstance(dtype, np.dtype):
                if _is_inexact(values.dropna()):
                    return values.to_numpy(dtype=object, na_value=None)
                return values.to_numpy(dtype=np.float64, na_value=np.nan)
        if getattr(dtype, "kind", "O") == "f" and not isinstance(dtype, np.dtype):
            return values.to_numpy(dtype=np.float64, na_value=np.nan)
        if getattr(dtype, "kind", "O") == "b" and not isinstance(dtype, np.dtype):
            return values.to_numpy(dtype=object, na_value=None)
        if getattr(dtype, "kind", "O") == "M" and getattr(dtype, "tz", None) is not None:
            return values.dt.tz_localize(None).to_numpy()
        return values.to_numpy()
    if hasattr(values, "type") and hasattr(values, "to_pylist"):
        return _of_arrow(values)
    if hasattr(values, "__array__"):
        return np.asarray(values)
    return _objects(list(values))


def _dictionary(values: Any) -> tuple[np.ndarray, list[str]] | None:
    """The places of texts in their list, of an array of Arrow; nothing for other columns."""
    if not hasattr(values, "dictionary_encode") or not hasattr(values, "to_pylist"):
        return None
    kind = str(values.type)
    if kind not in ("string", "large_string", "string_view"):
        return None
    if hasattr(values, "combine_chunks"):
        values = values.combine_chunks()
    if hasattr(values, "chunks"):  # older versions join the chunks of a column to one
        values = values.chunk(0) if values.num_chunks else []
        if not len(values):
            return np.empty(0), []
    if kind == "string_view":
        values = values.cast("string")
    coded = values.dictionary_encode()
    codes = np.asarray(coded.indices.to_numpy(zero_copy_only=False), dtype=np.float64)
    return codes, coded.dictionary.to_pylist()


def _of_polars(values: Any, name: str) -> np.ndarray:
    if name in ("Date",):
        return values.to_numpy().astype("M8[D]")
    if name == "Boolean":
        return _objects([None if v is None else str(v).lower() for v in values.to_list()])
    if name.startswith("Datetime") and "time_zone='" in name:
        return values.dt.replace_time_zone(None).to_numpy()
    return values.to_numpy()


def _of_arrow(values: Any) -> np.ndarray:
    kind = str(values.type)
    if kind == "bool":
        return _objects([None if v is None else str(v).lower() for v in values.to_pylist()])
    if kind.startswith("date"):
        return np.array(values.to_pylist(), dtype="M8[D]")
    if kind.startswith(("int", "uint")) and values.null_count:
        # One missing value would turn all others into floats, which are not exact from 2**53 on.
        known = values.drop_null().to_numpy(zero_copy_only=False)
        if _is_inexact(known):
            return _objects(values.to_pylist())
    if kind.startswith(("int", "uint", "float", "double", "halffloat")):
        return values.to_numpy(zero_copy_only=False)
    return _objects(values.to_pylist())


def _objects(values: list[Any]) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _coded(values: list[Any]) -> tuple[np.ndarray, list[str]]:
    """Places in the list of different texts; NaN where there is no value."""
    places: dict[str, int] = {}
    codes = np.empty(len(values))
    for row, value in enumerate(values):
        text = value if isinstance(value, str) else _text(value)
        codes[row] = np.nan if text is None else places.setdefault(text, len(places))
    return codes, list(places)


def _text(value: Any) -> str | None:
    """The text of a value in a CSV; nothing for a missing one."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, (float, np.floating)) and value != value:
        return None
    if isinstance(value, (bool, np.bool_, int, np.integer)):
        return str(value)
    if isinstance(value, (np.float32, np.float16)):
        value = float(str(value))
    if isinstance(value, (float, np.floating)):
        # As the number would be written out that a column of numbers holds: what other rows are
        # must not change what this one means.
        return np.format_float_positional(float(value), trim="-")
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=None).isoformat(sep=" ")
    if isinstance(value, datetime.date):
        return value.isoformat()
    kind = type(value).__name__
    raise TypeError(
        f"a column holds objects of type {kind}; allowed: numbers, texts, truths and dates. The "
        "argument must be a string or a number: convert the column first"
    )
