// When a loop was blocked, and who waited for it, as the agents' tags say; pure.
export const BLOCKED = 'loop.blocked';
export const WAITED = 'loop.waited';
const LIMIT = 100; // milliseconds after which the agent's watch says so, if nothing else is set

export const tagOf = (span, key) => span.tags.find(([name]) => name === key)?.[1];

export function millisOf(span, key) {
  const text = tagOf(span, key);
  const number = Number.parseFloat(text);
  return Number.isFinite(number) && number >= 0 ? number : 0;
}

// The times for which a span held the loop. The watch notes one when its limit has passed, and counts on in the tag. So
// where it began is known about, and never outside the span.
export function blocksOf(span) {
  const took = millisOf(span, BLOCKED);
  if (!took) return [];
  const logs = span.logs.filter(log => log.fields.some(([key, value]) => key === 'event' && value === BLOCKED));
  const each = took / Math.max(1, logs.length);
  return (logs.length > 0 ? logs : [{ time: span.end, fields: [] }]).map(log => {
    const { frame = '', stack = '' } = Object.fromEntries(log.fields);
    const noted = logs.length > 0 ? log.time - Math.min(LIMIT, each) : span.start;
    const start = Math.max(span.start, Math.min(noted, span.end - each));
    return { span, start, end: start + each, took: each, frame, stack };
  });
}

export const instanceOf = span => `${span.service}\n${span.instance}`;

// the spans of a trace that had to do with a blocked loop
export const concerned = spans =>
  spans.filter(span => span.tags.some(([key]) => key === BLOCKED || key === WAITED));

// Of each instance the times for which its loop was blocked. `others` are spans of other traces.
export function bandsOf(spans, others) {
  const found = new Map();
  for (const span of [...concerned(spans), ...others]) {
    for (const block of blocksOf(span)) {
      const name = instanceOf(span);
      if (!found.has(name)) found.set(name, []);
      found.get(name).push(block);
    }
  }
  return found;
}
