// How much of a trace each service worked itself: without what it waited for in others, and moments once only, however
// many of its spans ran side by side.
import { gaps, total, union } from './intervals.js';

export function ownTimes(spans) {
  const children = new Map();
  for (const span of spans) {
    if (!children.has(span.parent)) children.set(span.parent, []);
    children.get(span.parent).push(span);
  }
  const own = new Map();
  for (const span of spans) {
    if (!own.has(span.service)) own.set(span.service, []);
    own.get(span.service).push(...gaps(union(children.get(span.id) ?? []), span));
  }
  return [...own]
    .map(([service, times]) => [service, total(union(times))])
    .sort((one, other) => other[1] - one[1]);
}
