"""happybase, against a Thrift server of the test's own that keeps rows in memory."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import pytest

from kit.real.ports import free_ports, is_listening
from record.recorded import Recorder
from swagent import local_span

from .trees import trees

happybase: Any = pytest.importorskip("happybase", reason="happybase has no wheels here")
INSTRUMENTED = ("happybase",)
AGAINST = "a fake: an HBase of the tests behind a real Thrift server"


class Rows:
    """HBase's Thrift gateway, as far as it is asked here."""

    def __init__(self, thrift: Any) -> None:
        self._thrift = thrift
        self._rows: dict[bytes, dict[bytes, bytes]] = {}
        self._scans: dict[int, Iterator[bytes]] = {}

    def mutateRow(self, table: bytes, row: bytes, mutations: list[Any], attributes: Any) -> None:  # noqa: N802
        if b"broken" in row:
            raise self._thrift.IOError(message="the region is gone")
        self._rows.setdefault(row, {}).update({each.column: each.value for each in mutations})

    def mutateRows(self, table: bytes, batches: list[Any], attributes: Any) -> None:  # noqa: N802
        for each in batches:
            self.mutateRow(table, each.row, each.mutations, attributes)

    def getRowWithColumns(self, table: bytes, row: bytes, columns: Any, attributes: Any) -> list[Any]:  # noqa: N802
        return [self._result(row)] if row in self._rows else []

    def scannerOpenWithScan(self, table: bytes, scan: Any, attributes: Any) -> int:  # noqa: N802
        self._scans[1] = iter(sorted(self._rows))
        return 1

    def scannerGetList(self, scanner: int, count: int) -> list[Any]:  # noqa: N802
        return [self._result(row) for row, _ in zip(self._scans[scanner], range(count), strict=False)]

    def scannerClose(self, scanner: int) -> None:  # noqa: N802
        del self._scans[scanner]

    def _result(self, row: bytes) -> Any:
        cells = {name: self._thrift.TCell(value, 1) for name, value in self._rows[row].items()}
        return self._thrift.TRowResult(row=row, columns=cells)


@contextmanager
def hbase() -> Iterator[int]:
    """Serve the rows, and yield the port."""
    thrift: Any = import_module("Hbase_thrift")
    make_server: Any = import_module("thriftpy2.rpc").make_server
    (port,) = free_ports(1)
    server = make_server(thrift.Hbase, Rows(thrift), "127.0.0.1", port)
    serving = threading.Thread(target=server.serve, daemon=True)
    serving.start()
    while not is_listening(port):
        assert serving.is_alive(), "it could not listen"
        time.sleep(0.01)  # another thread begins to listen, and says it nowhere
    yield port
    server.close()


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with hbase() as port:
        yield port


@pytest.fixture
def table(port: int) -> Iterator[Any]:
    connection = happybase.Connection("127.0.0.1", port)
    yield connection.table("orders")
    connection.close()


def test_calls_are_spans_with_their_table(recorder: Recorder, table: Any, port: int) -> None:
    with local_span("job"):
        table.put(b"lamp", {b"d:price": b"secret"})
        assert table.row(b"lamp") == {b"d:price": b"secret"}
        with table.batch() as batch:
            batch.put(b"chair", {b"d:price": b"15"})
            batch.put(b"desk", {b"d:price": b"9"})
    tags = f"HBASE/DATABASE 127.0.0.1:{port} db.type=HBase db.instance=orders"
    assert trees(recorder).splitlines() == [
        "Local job", f"  Exit HBase/put {tags}", f"  Exit HBase/row {tags}", f"  Exit HBase/batch {tags}",
    ]  # fmt: skip


def test_a_scan_is_one_span_and_what_is_done_with_its_rows_is_not_below_it(recorder: Recorder, table: Any) -> None:
    table.put(b"lamp", {b"d:price": b"12"})
    recorder.segments.clear()
    with local_span("job"):
        for _ in table.scan(batch_size=1):
            with local_span("work"):
                pass
            break
        assert list(table.scan())
    names = recorder.only.names
    assert names[:3] == ["job", "HBase/scan", "work"]
    assert names.count("HBase/scan") == 2
    assert {span.parent_id for span in recorder.only.spans} == {-1, 0}
    assert not any(span.failed for span in recorder.only.spans)


def test_a_failure_shows(recorder: Recorder, table: Any) -> None:
    with pytest.raises(Exception, match="the region is gone"), local_span("job"):
        table.put(b"broken", {b"d:price": b"12"})
    assert recorder.span("HBase/put").failed
