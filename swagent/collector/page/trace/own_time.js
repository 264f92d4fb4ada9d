// How much of a trace each service worked itself: without what it waited for in others, and moments once only, however
// many of its spans ran side by side.

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
    .map(([service, times]) => [service, union(times).reduce((total, { start, end }) => total + end - start, 0)])
    .sort((one, other) => other[1] - one[1]);
}

// times that overlap, as one
function union(times) {
  const merged = [];
  for (const { start, end } of [...times].sort((one, other) => one.start - other.start)) {
    const last = merged.at(-1);
    if (last && start <= last.end) last.end = Math.max(last.end, end);
    else if (end > start) merged.push({ start, end });
  }
  return merged;
}

// what the busy times leave of a span
function gaps(busy, span) {
  const found = [];
  let from = span.start;
  for (const { start, end } of busy) {
    if (Math.min(start, span.end) > from) found.push({ start: from, end: Math.min(start, span.end) });
    from = Math.max(from, end);
  }
  if (span.end > from) found.push({ start: from, end: span.end });
  return found;
}
