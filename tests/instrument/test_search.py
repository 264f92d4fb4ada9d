"""Elasticsearch and OpenSearch, over urllib3 and aiohttp: one span for a request, against a server in this process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import elasticsearch
import opensearchpy
import pytest

from kit.servers import dead_address
from record.recorded import Recorder
from swagent import exit_span, local_span
from swagent.instrument import settings
from swagent.instrument.libraries.search.search_call import path_template
from swagent.record.trace.model import SpanRecord

from .http_peer import Answer, HttpPeer, Request, http_peer
from .loops import on_asyncio
from .trees import trees
from .watcher import Watcher

INSTRUMENTED = ("elasticsearch", "opensearch")
AGAINST = "a fake: an HTTP server of the tests that answers as theirs"
NEEDS = ("aiohttp", "betterproto==2.0.0b7", "grpclib==0.4.9", "protobuf>=5.26", "starlette>=0.40", "uvicorn>=0.32")
_HEADERS = (("content-type", "application/json"), ("x-elastic-product", "Elasticsearch"))


def collected_by(span: SpanRecord) -> str:
    return span.name.partition("/")[0].lower()


def answer(request: Request) -> Answer:
    if request.path.startswith("/missing"):
        return Answer(404, {"error": "index_not_found_exception", "status": 404}, _HEADERS)
    if request.path.startswith("/busy"):
        return Answer(503, {"error": "unavailable", "status": 503}, _HEADERS)
    return Answer(200, {"_id": "17", "found": True, "hits": {"hits": []}}, _HEADERS)


@pytest.fixture
def peer() -> Iterator[HttpPeer]:
    with http_peer(answer) as peer:
        yield peer


@pytest.fixture
def elastic(peer: HttpPeer) -> Iterator[Any]:
    with elasticsearch.Elasticsearch(peer.url) as client:
        yield client


@pytest.fixture
def opens(peer: HttpPeer) -> Iterator[Any]:
    client: Any = opensearchpy.OpenSearch(peer.url)
    yield client
    client.close()


def drawn(recorder: Recorder, peer: HttpPeer) -> str:
    return trees(recorder).replace(peer.address, "search:9200")


def test_a_request_is_one_span(recorder: Recorder, elastic: Any, opens: Any, peer: HttpPeer) -> None:
    with local_span("job"):
        for client in (elastic, opens):
            client.index(index="orders", id="seventeen", body={"customer": "secret"})
            client.search(index="orders", body={"query": {"match": {"customer": "secret"}}})
            assert client.indices.exists(index="orders")
    places = ("PUT/orders/_doc/{id}", "POST/orders/_search", "HEAD/orders")
    lines = [
        f"  Exit {system}/{place} ELASTICSEARCH/DATABASE search:9200 db.type={system}"
        for system in ("Elasticsearch", "OpenSearch")
        for place in places
    ]
    assert drawn(recorder, peer).splitlines() == ["Local job", *lines]


def test_a_request_and_its_failure_are_shown(recorder: Recorder, elastic: Any, opens: Any, watcher: Watcher) -> None:
    query: dict[str, Any] = {"query": {"match_all": {}}}
    names: list[str] = []
    for system, client in (("Elasticsearch", elastic), ("OpenSearch", opens)):
        watcher.watch(system.lower())
        client.search(index="orders", body=query)
        with pytest.raises((elasticsearch.NotFoundError, opensearchpy.NotFoundError)):
            client.search(index="missing")
        names += [f"{system}/POST/{index}/_search" for index in ("orders", "missing")]
    assert [name for name, _ in watcher.requests] == names
    first = watcher.requests[0][1]
    assert (first.method, first.target, first.body) == ("POST", "/orders/_search", query)
    assert [(name, found["found"]) for name, found in watcher.responses] == [(names[0], True), (names[2], True)]
    assert not watcher.has_seen_ended
    assert recorder.names == [[name] for name in names]
    assert [segment.spans[0].failed for segment in recorder.segments] == [False, True, False, True]
    kinds = [dict(segment.spans[0].logs[0][1])["error.kind"] for segment in recorder.segments[1::2]]
    assert [kind.rpartition(".")[2] for kind in kinds] == ["NotFoundError", "NotFoundError"]


@on_asyncio
async def test_a_request_of_the_async_clients_too(recorder: Recorder, peer: HttpPeer) -> None:
    for make in (elasticsearch.AsyncElasticsearch, opensearchpy.AsyncOpenSearch):
        async with make(peer.url) as client:
            with local_span("job"):
                await client.get(index="orders", id="17")
    line = "  Exit {0}/GET/orders/_doc/{{id}} ELASTICSEARCH/DATABASE search:9200 db.type={0}".format
    assert drawn(recorder, peer).splitlines() == [
        "Local job", line("Elasticsearch"), "Local job", line("OpenSearch"),
    ]  # fmt: skip


def test_the_query_is_shown_where_that_is_wanted(recorder: Recorder, elastic: Any, opens: Any) -> None:
    settings.use(settings.Settings(elasticsearch_dsl=True))
    for client in (elastic, opens):
        client.search(index="orders", body={"query": {"match_all": {}}})
    statements = [dict(segment.spans[0].tags)["db.statement"] for segment in recorder.segments]
    assert statements == ["{'query': {'match_all': {}}}"] * 2


def test_a_request_that_is_tried_again_is_one_span_and_names_the_node_that_was_asked_last(
    recorder: Recorder, peer: HttpPeer
) -> None:
    with dead_address() as address:
        urls = [f"http://{address}", peer.url]
        with elasticsearch.Elasticsearch(
            urls, retry_on_timeout=True, max_retries=3, randomize_nodes_in_pool=False
        ) as client:
            client.search(index="orders")
            client.search(index="orders")
        opens: Any = opensearchpy.OpenSearch(urls, max_retries=3, randomize_hosts=False)
        opens.search(index="orders")
        opens.search(index="orders")
        opens.close()
    assert [segment.spans[0].peer for segment in recorder.segments] == [peer.address] * 4
    assert len(peer.requests) == 4


def test_a_call_inside_a_call_has_no_span_of_its_own(recorder: Recorder, elastic: Any) -> None:
    with exit_span("by hand", "search:9200"):
        elastic.search(index="orders")
    assert recorder.names == [["by hand"]]
    assert recorder.only.spans[0].peer == "search:9200", "and not that of the node that was asked"


@pytest.mark.parametrize(
    ("path", "template"),
    [
        ("/orders/_search", "/orders/_search"),
        ("/orders/_doc/seventeen", "/orders/_doc/{id}"),
        ("/logs-2026.11.22-000001/_update/a", "/logs-{n}/_update/{id}"),
        ("/orders,items2/_count", "/orders,items2/_count"),
        ("/_search/scroll/FGluY2x1ZGVfY29udGV4dF91dWlkDXF1ZXJ5QW5kRmV0Y2gBFm", "/_search/scroll/{id}"),
        ("/_tasks/node:17/_cancel", "/_tasks/{id}/_cancel"),
        ("_bulk", "/_bulk"),
    ],
)
def test_a_path_is_named_without_ids(path: str, template: str) -> None:
    assert path_template(path) == template
