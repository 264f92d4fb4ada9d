// Where failures began, in a trace and in a row of the list.
import assert from 'node:assert/strict';
import test from 'node:test';
import { failuresOf } from '../../../swagent/collector/page/trace/failed_spans.js';
import { failureText } from '../../../swagent/collector/page/traces/failure_text.js';

const span = (id, parent, error, more = {}) => ({ id, parent, error, start: 0, end: 9, kind: 'local', layer: 'Unknown', ...more });
const ids = ({ own, handled }) => [own.map(each => each.id), handled.map(each => each.id)];

test('a failure counts where it began', () => {
  assert.deepEqual(ids(failuresOf([span('a', null, true), span('b', 'a', true), span('c', 'b', true), span('d', 'b', false)])), [['c'], []]);
});

test('one that a span above has survived is handled', () => {
  const spans = [span('a', null, false), span('b', 'a', true), span('c', 'b', true), span('d', 'a', true, { end: 20 })];
  assert.deepEqual(ids(failuresOf(spans)), [['d'], ['c']]); // d went on after the request: none waited for it
});

test('the way up is not known, or leads to a producer', () => {
  const consumer = { kind: 'entry', layer: 'MQ' };
  const spans = [span('a', null, false), span('b', 'gone', true), span('c', 'a', true, consumer), span('d', 'c', true)];
  assert.deepEqual(ids(failuresOf(spans)), [['b', 'd'], []]);
});

test('a row says what failed, and where', () => {
  const failure = { count: 1, kind: 'shop.errors.OutOfStock', status: '', service: 'stock', is_handled: false };
  const of = changes => failureText({ errors: 4, failure: { ...failure, ...changes } });
  assert.equal(of({}), 'OutOfStock in stock');
  assert.equal(of({ is_handled: true }), 'OutOfStock in stock, handled');
  assert.equal(of({ kind: '', status: '502', count: 3 }), '502 in stock and 2 more');
  assert.equal(of({ kind: '' }), 'error in stock');
  assert.equal(failureText({ errors: 2, failure: null }), '2 errors');
  assert.equal(failureText({ errors: 0, failure: null }), '');
});
