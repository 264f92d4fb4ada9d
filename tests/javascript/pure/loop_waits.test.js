// How long a request waited for a blocked loop, before its span and within it; and of which whole a span is a part.
import assert from 'node:assert/strict';
import test from 'node:test';
import { waitsIn, waitsOf } from '../../../swagent/collector/page/trace/loop_waits.js';
import { shareOf } from '../../../swagent/collector/page/trace/share.js';
import { splitOf } from '../../../swagent/collector/page/trace/time_split.js';

const span = (id, start, end, tags = {}, more = {}) => ({
  id, parent: null, start, end, operation: id, service: 'shop', instance: '1', kind: 'entry', layer: 'Http', tags: Object.entries(tags),
  logs: [], ...more,
});
const holder = (id, start, end) => span(id, start, end, { 'loop.blocked': String(end - start) });

test('one that came in while the loop was held waited before its span', () => {
  const found = waitsIn([span('b:0', 400, 420, { 'loop.waited': '200' })], [holder('a:0', 200, 400)]);
  assert.deepEqual(found.get('b:0'), { before: 200, within: 0 });
});

test('one that the loop held back after its span began waited within it, also for longer than it takes otherwise', () => {
  const found = waitsIn([span('b:0', 190, 430, { 'loop.waited': '210' })], [holder('a:0', 200, 400)]);
  assert.deepEqual(found.get('b:0'), { before: 0, within: 210 });
});

test('what no block accounts for was not before the span', () => {
  const found = waitsIn([span('b:0', 240, 504, { 'loop.waited': '203' })], [holder('a:0', 300, 446)]);
  assert.deepEqual(found.get('b:0'), { before: 0, within: 203 });
});

test('one that began while the loop was held, as far as clocks say, waited before and within', () => {
  const found = waitsIn([span('b:0', 300, 520, { 'loop.waited': '200' })], [holder('a:0', 200, 400)]);
  assert.deepEqual(found.get('b:0'), { before: 100, within: 100 });
});

test('blocks of another process and of its own code say nothing', () => {
  const other = { ...holder('a:0', 200, 400), instance: '2' };
  const own = span('b:1', 500, 600, { 'loop.blocked': '100' });
  assert.deepEqual(waitsIn([span('b:0', 300, 700, { 'loop.waited': '150' }), own], [other]).get('b:0'), { before: 0, within: 150 });
});

test('where the block is not kept, a span that is too short for its wait shows it, or its caller does', () => {
  const waiting = span('b:0', 400, 420, { 'loop.waited': '200' });
  assert.deepEqual(waitsOf(waiting, [], undefined), { before: 200, within: 0 });
  const long = span('b:0', 400, 900, { 'loop.waited': '200' });
  assert.deepEqual(waitsOf(long, [], span('a:1', 250, 905)), { before: 150, within: 50 });
  assert.deepEqual(waitsOf(long, [], span('a:1', 395, 905)), { before: 0, within: 200 });
});

const parts = split => split.parts.map(({ kind, what, ms }) => [kind, what, ms]);
const MEASURED = { 'time.running': '10', 'time.ready': '1', 'time.awaiting': '9' };

test('the wait before the span is a part of its split', () => {
  const split = splitOf(span('b:0', 400, 420, MEASURED), [], { before: 200, within: 0 });
  assert.equal(split.total, 220);
  assert.deepEqual(parts(split), [['before', '', 200], ['running', '', 10], ['ready', '', 1], ['awaiting', '', 9]]);
});

test('an answer that lay in its socket while the loop was held was waited for no longer', () => {
  const tags = { ...MEASURED, 'time.awaiting': '811', 'time.awaited': '[["Redis/PING", 811]]' };
  const split = splitOf(span('b:0', 0, 822, tags), [], { before: 0, within: 740 });
  assert.deepEqual(parts(split), [['running', '', 10], ['ready', '', 740], ['awaiting', 'Redis/PING', 72]]);
  assert.equal(split.parts.reduce((sum, each) => sum + each.ms, 0), split.total);
});

test('a request is all of itself, and what follows is a part of the trace', () => {
  const spans = [span('a:0', 0, 450), span('a:1', 0, 90), span('c:0', 440, 1000)];
  const trace = { spans, start: 0, duration: 450, after: 550 };
  assert.deepEqual(spans.map(each => shareOf(each, trace)), [
    { of: 'Of the request', percent: 100 }, { of: 'Of the request', percent: 20 }, { of: 'Of the trace', percent: 56 },
  ]);
  assert.deepEqual(shareOf(spans[0], { ...trace, after: 0 }), { of: 'Of the trace', percent: 100 });
});
