// Times that overlap. Each is an object with `start` and `end`.

// moments once, however many of the times hold them; in order
export function union(times) {
  const merged = [];
  for (const { start, end } of [...times].sort((one, other) => one.start - other.start)) {
    const last = merged.at(-1);
    if (last && start <= last.end) last.end = Math.max(last.end, end);
    else if (end > start) merged.push({ start, end });
  }
  return merged;
}

// the parts of a span that the busy times, in order, leave over
export function gaps(busy, span) {
  const found = [];
  let from = span.start;
  for (const { start, end } of busy) {
    if (Math.min(start, span.end) > from) found.push({ start: from, end: Math.min(start, span.end) });
    from = Math.max(from, end);
  }
  if (span.end > from) found.push({ start: from, end: span.end });
  return found;
}

export const total = times => times.reduce((sum, { start, end }) => sum + end - start, 0);

export const overlaps = (one, other) => one.start <= other.end && other.start <= one.end;
