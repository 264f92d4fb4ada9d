// Where the cells of the heatmap lie.
import assert from 'node:assert/strict';
import test from 'node:test';
import { between, boxOf, cellAt, countIn, durationLabels, limitsOf, place, timesBelow } from '../../../swagent/collector/page/traces/heat_cells.js';

const map = { columns: 10, step: 100, begin: 1000, edges: [1, 10, 100, 1000], cells: [[0, 0, 5, 1], [3, 2, 7, 2], [9, 1, 1, 0]] };

test('each cell is where a pointer in its middle finds it', () => {
  for (let column = 0; column < map.columns; column += 1) {
    for (let row = 0; row < map.edges.length - 1; row += 1) {
      const { left, top, width, height } = place(map, { column, toColumn: column, row, toRow: row }, 400, 90);
      assert.deepEqual(cellAt(map, left + width / 2, top + height / 2, 400, 90), { column, row });
    }
  }
});

test('a pointer outside finds the nearest cell', () => {
  assert.deepEqual(cellAt(map, -50, -50, 400, 90), { column: 0, row: 2 });
  assert.deepEqual(cellAt(map, 900, 89.9, 400, 90), { column: 9, row: 0 });
});

test('the limits of a box lead back to the box', () => {
  const box = between({ column: 6, row: 2 }, { column: 2, row: 1 });
  assert.deepEqual(box, { column: 2, toColumn: 6, row: 1, toRow: 2 });
  assert.deepEqual(limitsOf(map, box), { from: 1200, to: 1699, min_ms: 10, max_ms: 999 });
  assert.deepEqual(boxOf(map, limitsOf(map, box)), box);
});

test('the first row holds what is faster, and limits outside have no box', () => {
  assert.equal(limitsOf(map, { column: 0, toColumn: 0, row: 0, toRow: 0 }).min_ms, 0);
  assert.equal(boxOf(map, { from: 0, to: 999, min_ms: 0, max_ms: 9 }), null);
  assert.equal(boxOf(map, { from: 2000, to: 3000, min_ms: 0, max_ms: 9 }), null);
  assert.equal(boxOf(map, { from: 1000, to: 1100, min_ms: 1000, max_ms: 2000 }), null);
});

test('what a box holds is counted', () => {
  assert.deepEqual(countIn(map, { column: 0, toColumn: 9, row: 0, toRow: 2 }), { all: 13, failed: 3 });
  assert.deepEqual(countIn(map, { column: 1, toColumn: 9, row: 1, toRow: 2 }), { all: 8, failed: 2 });
});

test('labels keep apart', () => {
  assert.deepEqual(durationLabels(map, 90).map(([text]) => text), ['1 ms', '10 ms', '100 ms', '1 s']);
  const heights = durationLabels(map, 20).map(([, y]) => y);
  assert.ok(heights.length >= 1);
  for (const [index, y] of heights.slice(1).entries()) assert.ok(Math.abs(y - heights[index]) >= 15);
  const seconds = { ...map, step: 1000 };
  assert.deepEqual(timesBelow(seconds, 400, 80).slice(0, 3), [[2000, 40], [4000, 120], [6000, 200]]);
});

test('no two times read alike', () => {
  assert.deepEqual(timesBelow({ ...map, columns: 30 }, 1200, 40), [[1000, 0], [2000, 400], [3000, 800], [4000, 1200]]);
  assert.equal(timesBelow(map, 400, 80).length, 2); // all of it within one second: its ends
});
