"""The counting broker counts what aiokafka's batches hold."""

from __future__ import annotations

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder

from stress.collectors.kafka import count_batches


def batch(count: int) -> bytes:
    builder = DefaultRecordBatchBuilder(
        magic=2, compression_type=0, is_transactional=0, producer_id=-1, producer_epoch=-1, base_sequence=-1,
        batch_size=1 << 20,
    )  # fmt: skip
    for number in range(count):
        builder.append(number, timestamp=1, key=b"key", value=b"v" * number, headers=[])
    return bytes(builder.build())


@pytest.mark.parametrize("counts", [[], [1], [3], [512, 1, 40]])
def test_batches_in_a_row(counts: list[int]) -> None:
    assert count_batches(b"".join(map(batch, counts))) == sum(counts)
