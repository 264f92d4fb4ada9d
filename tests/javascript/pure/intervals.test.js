// Times that overlap.
import assert from 'node:assert/strict';
import test from 'node:test';
import { gaps, overlaps, total, union } from '../../../swagent/collector/page/trace/intervals.js';

const times = (...pairs) => pairs.map(([start, end]) => ({ start, end }));

test('moments count once', () => {
  assert.deepEqual(union(times([5, 9], [0, 3], [2, 6], [20, 20], [12, 15])), times([0, 9], [12, 15]));
  assert.equal(total(union(times([0, 10], [0, 10]))), 10);
  assert.deepEqual(union([]), []);
});

test('what is given stays as it is', () => {
  const given = times([0, 3], [2, 6]);
  union(given);
  assert.deepEqual(given, times([0, 3], [2, 6]));
});

test('gaps and busy times make the whole', () => {
  const span = { start: 0, end: 20 };
  const busy = union(times([-5, 2], [4, 6], [6, 9], [18, 40]));
  assert.deepEqual(gaps(busy, span), times([2, 4], [9, 18]));
  assert.deepEqual(gaps([], span), [span]);
  assert.deepEqual(gaps(times([-1, 30]), span), []);
});

test('times that touch overlap', () => {
  assert.ok(overlaps({ start: 0, end: 5 }, { start: 5, end: 6 }));
  assert.ok(!overlaps({ start: 0, end: 5 }, { start: 6, end: 7 }));
});
