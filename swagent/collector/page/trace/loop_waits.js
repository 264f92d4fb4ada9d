// How much of what a request waited for a blocked loop lies before its span: it was in the server's socket; pure.
import { blocksOf, concerned, instanceOf, millisOf, WAITED } from './loop_blocks.js';

const CERTAIN = 25; // milliseconds: where a block began is known to a quarter of the watch's limit
const SLACK = 60; // milliseconds after a block until the application sees who waited for it
const NONE = { before: 0, within: 0 };

// `{ before, within }`, in milliseconds; blocks: of the loop of its process
export function waitsOf(span, blocks, parent) {
  const waited = millisOf(span, WAITED);
  if (!waited) return NONE;
  const before = Math.min(waited, beforeOf(span, waited, blocks, parent));
  if (before < CERTAIN) return { before: 0, within: waited };
  return waited - before < CERTAIN ? { before: waited, within: 0 } : { before, within: waited - before };
}

function beforeOf(span, waited, blocks, parent) {
  const took = span.end - span.start;
  const near = blocks.filter(each => each.start < span.end && each.end > span.start - waited - SLACK);
  if (near.length > 0) {
    // no more than a block is known to have lain there
    const ahead = { start: span.start - waited - SLACK, end: span.start };
    const [held, within] = [ahead, span].map(time => sumOf(near.map(each => overlap(each, time))));
    return Math.min(held, Math.max(0, waited - Math.min(took, within)));
  }
  if (waited > took) return waited;
  const gap = parent ? span.start - parent.start : 0;
  return 2 * gap > waited ? Math.min(waited, gap) : 0;
}

const overlap = (one, other) => Math.max(0, Math.min(one.end, other.end) - Math.max(one.start, other.start));
const sumOf = numbers => numbers.reduce((sum, each) => sum + each, 0);

// of each span of a trace that waited, by its id; others: spans of other traces that held the loop
export function waitsIn(spans, others) {
  const known = new Map(spans.map(each => [each.id, each]));
  const blocks = [...concerned(spans), ...others].flatMap(blocksOf);
  const found = new Map();
  for (const span of spans) {
    if (!millisOf(span, WAITED)) continue;
    const theirs = blocks.filter(each => instanceOf(each.span) === instanceOf(span) && !isOwn(each.span, span));
    found.set(span.id, waitsOf(span, theirs, known.get(span.parent)));
  }
  return found;
}

// what a request's own code held is no wait of it
const isOwn = (one, other) => segmentOf(one.id) === segmentOf(other.id);
const segmentOf = id => id.slice(0, id.lastIndexOf(':'));
