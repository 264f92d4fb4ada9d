// Which spans of a trace are seen, in which order; pure. Not recursive: a trace may be deep.
import { foldOf, foldSiblings } from './folds.js';

// of each span its children; of `null` the roots
export function childrenOf(spans) {
  const children = new Map();
  for (const span of spans) {
    if (!children.has(span.parent)) children.set(span.parent, []);
    children.get(span.parent).push(span);
  }
  return children;
}

// The rows from the top: `{ id, span, fold, depth, isClosed }`. A row is a span, or a fold of many.
// closed: ids of spans whose children are hidden; unfolded: ids of folds whose spans are seen; only: the ids that are
// seen at all, or nothing for all
export function rowsOf(children, { closed, unfolded, only }) {
  const rows = [];
  const below = (parent, depth) => {
    const seen = (children.get(parent) ?? []).filter(each => !only || only.has(each.id));
    return foldSiblings(seen)
      .map(each => ({ item: each, depth }))
      .reverse();
  };
  const waiting = below(null, 0);
  while (waiting.length > 0) {
    const { item, depth } = waiting.pop();
    const fold = item.spans ? item : null;
    const isClosed = fold ? !unfolded.has(item.id) : closed.has(item.id);
    rows.push({ id: item.id, span: fold ? fold.spans[0] : item, fold, depth, isClosed });
    if (isClosed) continue;
    if (fold) for (const span of [...fold.spans].reverse()) waiting.push({ item: span, depth: depth + 1 });
    else for (const each of below(item.id, depth + 1)) waiting.push(each);
  }
  return rows;
}

// failed spans, with those that lead to them
export function errorsOnly(spans) {
  const known = new Map(spans.map(each => [each.id, each]));
  const seen = new Set();
  for (const span of spans) {
    if (!span.error) continue;
    for (let each = span; each && !seen.has(each.id); each = known.get(each.parent)) seen.add(each.id);
  }
  return seen;
}

// everything that hides a span: the spans above it, and the folds that it or they are in
export function hiding(spans, children, span) {
  const known = new Map(spans.map(each => [each.id, each]));
  const found = { above: [], folds: [] };
  for (let each = span; each; each = known.get(each.parent)) {
    const fold = foldOf(children.get(each.parent) ?? [], each);
    if (fold) found.folds.push(fold.id);
    if (each.parent) found.above.push(each.parent);
  }
  return found;
}

export function descendants(spans) {
  const totals = new Map();
  // parents come first, so from the end every child is counted before its parent
  for (let index = spans.length - 1; index >= 0; index -= 1) {
    const { id, parent } = spans[index];
    if (parent) totals.set(parent, (totals.get(parent) ?? 0) + 1 + (totals.get(id) ?? 0));
  }
  return totals;
}

// how far to the right the names of a level begin, in pixels: deep trees get narrow steps, and never the whole column
const STEP = 14;
const ROOM = 196;
const LEAST_STEP = 3;
const MOST = 260;

export function indent(depth, deepest) {
  const step = Math.max(LEAST_STEP, Math.min(STEP, ROOM / Math.max(1, deepest)));
  return Math.min(depth * step, MOST);
}

// beyond this level steps are hard to see apart, and rows say their level
export const NUMBERED = 14;
