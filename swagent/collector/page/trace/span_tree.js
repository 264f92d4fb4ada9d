// Which spans of a trace are seen, and where on the time axis.

// above ten seconds people count by the clock
const CLOCK_STEPS_S = [10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400];

// round ticks: 1, 2 or 5 of something, at most six
export function axis(trace) {
  const from = Math.min(trace.start, ...trace.spans.map(each => each.start));
  const whole = Math.max(1, trace.duration, ...trace.spans.map(each => each.end - from));
  const at = time => Math.min(100, Math.max(0, ((time - from) / whole) * 100));
  const raw = Math.max(1, whole / 5); // what is measured is whole milliseconds
  const power = 10 ** Math.floor(Math.log10(raw));
  const decimal = [1, 2, 5, 10].map(each => each * power).find(each => each >= raw);
  const step = raw > 10_000 ? (CLOCK_STEPS_S.map(each => each * 1000).find(each => each >= raw) ?? decimal) : decimal;
  const ticks = [];
  for (let value = 0; value <= whole * 0.93; value += step) ticks.push({ value, at: (value / whole) * 100 });
  return { at, ticks };
}

export function visible(spans, closed) {
  if (closed.size === 0) return spans;
  const hidden = new Set();
  return spans.filter(span => {
    if (!closed.has(span.parent) && !hidden.has(span.parent)) return true;
    hidden.add(span.id);
    return false;
  });
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
