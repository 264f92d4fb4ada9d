// From the calls of a profile to bars.
import assert from 'node:assert/strict';
import test from 'node:test';
import { byKey, fold, grow, lay, own, sizeOf } from '../../../swagent/collector/page/profiles/flame_layout.js';

const call = (depth, name, ms, more = {}) => ({ depth, name, ms, count: 1, state: null, library: false, ...more });
const NODES = [
  call(0, 'serve', 100),
  call(1, 'handle', 60),
  call(2, 'query', 40, { state: 'awaiting' }),
  call(2, 'render', 20, { state: 'running' }),
  call(1, 'log', 40, { state: 'running' }),
];

test('calls grow into a tree that knows the states below', () => {
  const [root] = grow(NODES);
  assert.deepEqual(root.children.map(each => each.name), ['handle', 'log']);
  assert.deepEqual(root.split, { running: 60, ready: 0, awaiting: 40 });
  assert.equal(byKey([root], root.children[0].children[1].key).name, 'render');
  assert.equal(byKey([root], ''), undefined);
});

test('without times the count is the size', () => {
  const roots = grow([call(0, 'a', 0, { count: 7 }), call(1, 'b', 0, { count: 3 })]);
  assert.deepEqual([sizeOf(roots), roots[0].children[0].size], [7, 3]);
});

test('bars lie below what called them, side by side', () => {
  const { bars, levels, total } = lay(grow(NODES), null);
  assert.deepEqual(
    bars.map(({ call: { name }, level, left, width }) => [name, level, Math.round(left), Math.round(width)]),
    [['serve', 0, 0, 100], ['handle', 1, 0, 60], ['log', 1, 60, 40], ['query', 2, 0, 40], ['render', 2, 40, 20]],
  );
  assert.deepEqual([levels, total], [3, 100]);
});

test('a chosen call is as wide as all, below its callers', () => {
  const [root] = grow(NODES);
  const { bars } = lay([root], root.children[0]);
  assert.deepEqual(
    bars.map(({ call: { name }, width, above = false }) => [name, Math.round(width), above]),
    [['serve', 100, true], ['handle', 100, false], ['query', 67, false], ['render', 33, false]],
  );
});

test('a row of library calls is one bar', () => {
  const library = { library: true };
  const roots = grow([
    call(0, 'anyio.run', 50, library), call(1, 'anyio.loop', 50, library), call(2, 'uvicorn.serve', 50, library),
    call(3, 'shop.order', 50),
  ]);
  const [folded] = fold(roots);
  assert.deepEqual([folded.name, folded.children.map(each => each.name)], ['… 3 calls in anyio, uvicorn', ['shop.order']]);
  assert.equal(folded.children[0].depth, 1);
});

test('what runs beside the requests counts on top', () => {
  const roots = [{ name: 'request', beside: false }, { name: 'task', beside: true }];
  assert.deepEqual(own(roots), [roots[0]]);
  assert.deepEqual(own([roots[1]]), [roots[1]]);
});
