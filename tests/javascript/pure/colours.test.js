// The colour and the mark of a service.
import assert from 'node:assert/strict';
import test from 'node:test';
import { colourClass } from '../../../swagent/collector/page/parts/colours.js';

const names = Array.from({ length: 320 }, (_, index) => `service-${index}`);

test('a look depends on the name alone', () => {
  const before = names.map(colourClass);
  assert.deepEqual([...names].reverse().map(colourClass).reverse(), before);
  assert.equal(colourClass('shop'), 'c0 m0'); // a look that changes with a release is none that one knows again
});

test('looks are shared out evenly', () => {
  const counts = new Map();
  for (const each of names.map(colourClass)) counts.set(each, (counts.get(each) ?? 0) + 1);
  assert.equal(counts.size, 32);
  assert.ok(Math.max(...counts.values()) <= 25, String([...counts.values()]));
});

test('names of any text have one', () => {
  for (const name of ['', '🛒', 'مخزن', 'x'.repeat(10_000)]) assert.match(colourClass(name), /^c(\d|1[0-5]) m[01]$/);
});
