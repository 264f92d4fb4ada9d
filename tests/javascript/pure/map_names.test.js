// Names in the boxes of the map.
import assert from 'node:assert/strict';
import test from 'node:test';
import { cut } from '../../../swagent/collector/page/map/map_names.js';

// W is twice as wide as others
const width = text => [...text].reduce((sum, each) => sum + (each === 'W' ? 2 : 1), 0);

test('a name that fits stays whole, a wide one is cut earlier', () => {
  assert.equal(cut('orders-db', 9, width), 'orders-db');
  assert.equal(cut('orders-db1', 9, width), 'orders-d…');
  assert.equal(cut('WWWWWWWWWW', 9, width), 'WWWW…');
});

test('no emoji is halved, and the shortest rest is an ellipsis', () => {
  assert.equal(cut('👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧', 9, text => [...text].length), '👩‍👩‍👧…');
  assert.equal(cut('abc', 0, width), '…');
});
