"""A statement in few words: its tables, and never a value, whatever the statement looks like."""

from __future__ import annotations

import random

import pytest

from kit.seeds import session_seed
from swagent.instrument.libraries.sql.sql_call import keyword_of
from swagent.instrument.libraries.sql.sql_summary import LOOKED_AT, summary_of

STATEMENTS = {
    "SELECT * FROM customers WHERE id = $1": "SELECT customers",
    'select a.x from shop.orders a\njoin "Items" b on a.id = b.id': "SELECT shop.orders Items",
    "SELECT `a` FROM `shop`.`orders` LIMIT 1, 2": "SELECT shop.orders",
    "SELECT * FROM [dbo].[orders]": "SELECT dbo.orders",
    "SELECT * FROM a, b x, c AS y WHERE a.id = b.id": "SELECT a b c",
    "SELECT * FROM a LEFT JOIN b ON true JOIN LATERAL (SELECT 1 FROM c) x ON true": "SELECT a b c",
    "SELECT * FROM (SELECT id FROM inside) s": "SELECT inside",
    "SELECT extract(year from created) FROM a WHERE b IS DISTINCT FROM d": "SELECT a",
    "SELECT id FROM queue ORDER BY id FOR UPDATE SKIP LOCKED": "SELECT queue",
    "SELECT x FROM t WHERE d BETWEEN :from AND :to AND e = @from": "SELECT t",
    "INSERT INTO orders (a, b) VALUES (?, ?)": "INSERT orders",
    "INSERT INTO archive SELECT * FROM orders": "INSERT archive orders",
    "insert into t (a) values (1) on conflict (a) do update set b = 1": "INSERT t",
    "REPLACE INTO t VALUES (1)": "REPLACE t",
    "UPDATE accounts SET balance = balance - 1 WHERE id = 1": "UPDATE accounts",
    "UPDATE ONLY accounts SET owner = users.id FROM users": "UPDATE accounts users",
    "DELETE FROM sessions USING users WHERE sessions.id = users.id": "DELETE sessions users",
    "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET x = 1": "MERGE t s",
    "WITH recent AS (SELECT * FROM orders) SELECT * FROM recent JOIN customers USING (id)": "SELECT orders customers",
    "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT n FROM t": "SELECT",
    "with gone as (delete from queue returning *) insert into done select * from gone": "INSERT queue done",
    "CREATE TABLE IF NOT EXISTS items (id int)": "CREATE items",
    "DROP TABLE IF EXISTS items": "DROP items",
    "ALTER TABLE items ADD COLUMN a int": "ALTER items",
    "TRUNCATE items": "TRUNCATE items",
    "COPY items (a) FROM STDIN": "COPY items",
    "CALL refresh(1)": "CALL refresh",
    "SELECT 1": "",
    "SELECT now()": "",
    "PRAGMA foreign_keys": "",
    "": "",
}
VALUES = {
    "SELECT * FROM t WHERE a = 'from secret'": "SELECT t",
    "SELECT * FROM t WHERE a = 'it''s from secret' AND b = 'x'": "SELECT t",
    'SELECT * FROM t WHERE a = "from secret"': "SELECT t",
    "SELECT * FROM t WHERE a = 'the end is cut from secret": "SELECT t",
    "SELECT * FROM t WHERE a = $$ from secret $$ AND b = $x$ from $$ secret $x$": "SELECT t",
    "SELECT * FROM t /* from secret */ WHERE a = 1 -- from secret": "SELECT t",
    "INSERT INTO t VALUES ('from secret'), ('join secret')": "INSERT t",
    # the end of the literal depends on the database, or on its settings
    r"SELECT 'it\'s from secret' FROM t": "",
    "SELECT 1 # it's\nFROM t WHERE a = 'from secret'": "",
    "SELECT 5--'1\n FROM t WHERE a = ' from secret": "",
    "SELECT 1 /* it /* is */ isn't */ FROM t WHERE a = 'from secret'": "",
    "SELECT q'[it's from secret]' FROM t": "",
}
LITERALS = [
    "'from secret'",
    "'it''s from secret, secret'",
    "$$update secret$$",
    "'-- join secret'",
    "' /* from secret'",
]
PIECES = [
    "SELECT a", "FROM t", "JOIN u ON", "WHERE b =", ", ", "(", ")", "AND c IN", "UPDATE t SET", "-- so\n", "/* so */",
    "WITH x AS (", "VALUES", "INSERT INTO t", "USING", ":from", "`q`", '"q"', "ORDER BY", "\n", "[1]",
]  # fmt: skip


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_statement_is_its_operation_and_its_tables(statement: str) -> None:
    assert summary_of(statement, keyword_of(statement)) == STATEMENTS[statement]


@pytest.mark.parametrize("statement", VALUES)
def test_no_value_is_shown(statement: str) -> None:
    assert summary_of(statement, keyword_of(statement)) == VALUES[statement]


@pytest.mark.gate
def test_no_value_is_shown_of_any_statement() -> None:
    draw = random.Random(session_seed())
    found = 0
    for _ in range(5000):
        statement = " ".join(draw.choice((*PIECES, draw.choice(LITERALS))) for _ in range(draw.randrange(3, 25)))
        cut = statement[: draw.randrange(1, len(statement) + 1)]
        for each in (statement, cut):
            summary = summary_of(each, keyword_of(each))
            found += bool(summary)
            assert "secret" not in summary, each
    assert found > 1000


def test_a_summary_has_few_tables_and_is_short() -> None:
    many = "SELECT * FROM " + ", ".join(f"t{number}" for number in range(100))
    assert summary_of(many, "SELECT") == "SELECT t0 t1 t2 t3 t4 t5 t6 t7"
    assert len(summary_of(f"SELECT * FROM {'t' * 1000}", "SELECT")) <= 150


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "piece", ["a", "a ", "(", "from a,", "x as ", '"', "a.", "$a", "extract (", "a(", " ", "/*", "'"]
)
def test_a_statement_without_sense_is_read_to_its_end(piece: str) -> None:
    # with a pattern that goes back and forth these would take minutes
    for statement in (f"SELECT {piece * LOOKED_AT}"[:LOOKED_AT], f"WITH {piece * LOOKED_AT}"[:LOOKED_AT]):
        assert summary_of(statement, "SELECT") in ("", "SELECT a")
