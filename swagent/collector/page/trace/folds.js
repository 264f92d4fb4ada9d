// Siblings that are the same call, again and again, as one row; pure.
import { statementOf } from './calls.js';
import { total, union } from './intervals.js';

export const LEAST = 10; // fewer are read faster than a sentence about them
const ASKED = new Set(['database', 'cache', 'http', 'rpcframework']); // where one call for all would do
const ONE_BY_ONE = 0.8; // of their time, that the calls did not share

// the children of one span, those that repeat replaced by a fold at the place of the first
export function foldSiblings(siblings) {
  if (siblings.length < LEAST) return siblings;
  const groups = new Map();
  for (const span of siblings) {
    const key = keyOf(span);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(span);
  }
  if (groups.size === siblings.length) return siblings;
  const found = [];
  for (const [key, spans] of groups) {
    if (spans.length < LEAST) found.push(...spans);
    else found.push(fold(key, spans));
  }
  return found.sort((one, other) => one.start - other.start);
}

const keyOf = span => [span.parent, span.kind, span.service, span.operation, span.peer, statementOf(span)].join('\n');

function fold(key, spans) {
  const [{ operation, service, kind, depth, parent }] = spans;
  const took = total(union(spans));
  return {
    id: `fold ${key}`,
    spans,
    ...{ operation, service, kind, depth, parent, took },
    start: spans.reduce((least, each) => Math.min(least, each.start), Infinity),
    end: spans.reduce((most, each) => Math.max(most, each.end), -Infinity),
    errors: spans.reduce((sum, each) => sum + (each.error ? 1 : 0), 0),
    isSuspect: isSuspect(spans, took),
  };
}

// one query for each row of another one's result: calls of one peer, one after the other
function isSuspect(spans, took) {
  const [{ kind, layer }] = spans;
  return kind === 'exit' && ASKED.has(layer.toLowerCase()) && took >= total(spans) * ONE_BY_ONE;
}

// the fold in which a span is, or nothing
export const foldOf = (siblings, span) => foldSiblings(siblings).find(each => each.spans?.includes(span));
