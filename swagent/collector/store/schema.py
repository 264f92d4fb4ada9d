"""The tables of the store, and how rows get in."""

from __future__ import annotations

FORMAT = 5
"""Goes up when a table changes; a file of another format is not opened."""

TABLES = """
CREATE TABLE segments (
    id INTEGER PRIMARY KEY, arrived REAL, trace TEXT, segment TEXT, service TEXT, instance TEXT,
    start INTEGER, took INTEGER, endpoint TEXT, spans INTEGER, errors INTEGER, is_root INTEGER,
    failed INTEGER, tags TEXT
);
CREATE INDEX segments_by_trace ON segments (trace, start, took, is_root, spans, errors, failed);
CREATE TABLE bodies (id INTEGER PRIMARY KEY, body BLOB);
CREATE TABLE calls (
    owner INTEGER, number INTEGER, span INTEGER, kind TEXT, service TEXT, instance TEXT, endpoint TEXT, peer TEXT,
    start INTEGER, duration INTEGER, is_error INTEGER, parent_segment TEXT, parent_span INTEGER, parent_service TEXT,
    layer INTEGER, PRIMARY KEY (owner, number)
) WITHOUT ROWID;
CREATE INDEX calls_by_parent ON calls (parent_segment, parent_span) WHERE parent_segment IS NOT NULL;
CREATE TABLE links (owner INTEGER, span INTEGER, parent_segment TEXT, parent_span INTEGER);
CREATE INDEX links_by_owner ON links (owner);
CREATE INDEX links_by_parent ON links (parent_segment, parent_span);
CREATE TABLE logs (
    id INTEGER PRIMARY KEY, arrived REAL, time INTEGER, service TEXT, instance TEXT, endpoint TEXT, content_type TEXT,
    content TEXT, tags TEXT, layer TEXT, trace TEXT, segment TEXT, span INTEGER, level TEXT
);
CREATE INDEX logs_by_trace ON logs (trace);
CREATE TABLE series (
    id INTEGER PRIMARY KEY, service TEXT, instance TEXT, name TEXT, labels TEXT
);
CREATE TABLE points (
    id INTEGER PRIMARY KEY, arrived REAL, series INTEGER, time INTEGER, value REAL, buckets TEXT
);
CREATE INDEX points_by_series ON points (series, time);
CREATE TABLE events (id INTEGER PRIMARY KEY, arrived REAL, kind TEXT, data TEXT);
CREATE TABLE others (id INTEGER PRIMARY KEY, arrived REAL, kind TEXT, data TEXT);
CREATE INDEX others_by_kind ON others (kind, id);
CREATE TABLE snapshots (
    id INTEGER PRIMARY KEY, arrived REAL, task TEXT, segment TEXT, time INTEGER, sequence INTEGER, stack TEXT
);
CREATE INDEX snapshots_by_task ON snapshots (task, segment, sequence, time);
CREATE INDEX snapshots_by_segment ON snapshots (segment, task);
CREATE TABLE profiles (task TEXT PRIMARY KEY, data TEXT);
CREATE TABLE instances (
    service TEXT, instance TEXT, layer TEXT, last_seen REAL, properties TEXT, keep_alives INTEGER,
    PRIMARY KEY (service, instance)
);
CREATE TABLE offsets (
    brokers TEXT, topic TEXT, partition INTEGER, next INTEGER, PRIMARY KEY (brokers, topic, partition)
);
"""

WIDTHS = {
    "segments": 14,
    "bodies": 2,
    "calls": 15,
    "links": 4,
    "logs": 14,
    "series": 5,
    "points": 6,
    "events": 4,
    "others": 4,
    "snapshots": 7,
    "profiles": 2,
    "instances": 6,
    "offsets": 4,
}
"""How many columns each table has."""


def insertion(table: str) -> str:
    """The statement that puts a row in, in place of one with the same key."""
    return f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * WIDTHS[table])})"  # noqa: S608  (our own names)
