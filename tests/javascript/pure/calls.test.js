// What tells calls apart: their statements without the values.
import assert from 'node:assert/strict';
import test from 'node:test';
import { fingerprint, peerOf, statementOf, summaryOf } from '../../../swagent/collector/page/trace/calls.js';
import { foldSiblings } from '../../../swagent/collector/page/trace/folds.js';

const call = (id, tags, more = {}) => ({
  id: String(id), parent: 'root', start: id * 10, end: id * 10 + 9, operation: 'PostgreSQL/asyncpg/query', service: 'shop',
  kind: 'exit', layer: 'Database', peer: 'db:5432', depth: 1, error: false, tags: Object.entries(tags), logs: [], ...more,
});

test('values are no part of a statement', () => {
  assert.equal(fingerprint("SELECT  a FROM b\n WHERE c = 'it''s' AND d IN (1, 2, 3)"), 'SELECT a FROM b WHERE c = ? AND d IN (?)');
  assert.equal(fingerprint('SELECT a FROM b2 WHERE c = $1 AND d = 4.5'), 'SELECT a FROM b2 WHERE c = ? AND d = ?');
});

test('a statement distinguishes calls further than its summary', () => {
  const summary = { 'db.query.summary': 'SELECT orders' };
  assert.equal(statementOf(call(1, summary)), 'SELECT orders');
  assert.equal(statementOf(call(1, { ...summary, 'db.statement': 'SELECT a FROM orders WHERE id = 7' })), 'SELECT a FROM orders WHERE id = ?');
  assert.equal(summaryOf(call(1, { ...summary, 'db.statement': 'SELECT a FROM orders' })), 'SELECT orders');
  assert.equal(summaryOf(call(1, { 'db.operation': 'SELECT' }, { operation: 'Mysql/SELECT' })), '');
  assert.deepEqual([peerOf(call(1, {})), peerOf(call(1, {}, { kind: 'entry' }))], ['db:5432', '']);
});

test('different statements are in different folds', () => {
  const of = (table, from) => Array.from({ length: 12 }, (_, index) => call(from + index, { 'db.query.summary': `SELECT ${table}` }));
  const folds = foldSiblings([...of('orders', 0), ...of('customers', 12), call(24, { 'db.query.summary': 'UPDATE orders' })]);
  assert.deepEqual(folds.map(each => each.spans?.length ?? 1), [12, 12, 1]);
  assert.equal(new Set(folds.map(each => each.id)).size, 3);
});
