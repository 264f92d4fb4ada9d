// Where the nodes and edges of the map go.
import assert from 'node:assert/strict';
import test from 'node:test';
import { arrange, COMPACT, fit, ROOMY } from '../../../swagent/collector/page/map/map_layout.js';

const edge = (from, to) => ({ from, to });
const DATA = {
  nodes: ['shop', 'stock', 'db'].map(name => ({ name })),
  edges: [edge('shop', 'stock'), edge('stock', 'db'), edge('stock', 'stock'), edge('shop', 'gone')],
};

for (const [name, size] of Object.entries({ ROOMY, COMPACT })) {
  for (const direction of ['LR', 'TB']) {
    test(`${name}, ${direction}: every node has its place, and no two share one`, () => {
      const { width, height, nodes, edges } = arrange(DATA, direction, size);
      assert.deepEqual([...nodes.keys()].sort(), ['db', 'shop', 'stock']);
      assert.deepEqual([...edges.keys()].sort(), ['shop\nstock', 'stock\ndb', 'stock\nstock']);
      const along = direction === 'LR' ? 'x' : 'y';
      assert.ok(nodes.get('shop')[along] < nodes.get('stock')[along]);
      assert.ok(nodes.get('stock')[along] < nodes.get('db')[along]);
      for (const { x, y } of nodes.values()) assert.ok(x > 0 && x < width && y > 0 && y < height);
      for (const { path } of edges.values()) assert.match(path, /^M[-\d. LQC]+$/);
    });
  }
}

test('the whole fits the room', () => {
  assert.equal(fit({ width: 400, height: 100 }, { width: 200, height: 100 }), 0.5);
  assert.equal(fit({ width: 10, height: 10 }, { width: 200, height: 100 }), 1.1);
});
