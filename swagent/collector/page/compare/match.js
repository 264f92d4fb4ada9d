// Two traces as one tree; pure. Spans are the same where operation, kind and component are, below parents that are the
// same; of several such ones the first is the first, the second the second, and so on.

const keyOf = span => [span.operation, span.kind, span.component].join('\n');

// children of each span, in their order; those whose parent is not there are roots
function childrenOf(spans) {
  const known = new Set(spans.map(each => each.id));
  const children = new Map([[null, []]]);
  for (const span of spans) {
    const parent = span.parent !== null && span.parent !== span.id && known.has(span.parent) ? span.parent : null;
    if (!children.has(parent)) children.set(parent, []);
    children.get(parent).push(span);
  }
  return children;
}

// brothers in the order of the first; those of the second alone keep their place there
function pair(ones, others) {
  const waiting = new Map();
  others.forEach((span, place) => {
    const key = keyOf(span);
    if (!waiting.has(key)) waiting.set(key, []);
    waiting.get(key).push(place);
  });
  for (const places of waiting.values()) places.reverse();
  const matches = ones.map(span => waiting.get(keyOf(span))?.pop() ?? -1);
  const matched = new Set(matches);
  const alone = others.map((_, place) => place).filter(place => !matched.has(place));
  const pairs = [];
  let next = 0;
  ones.forEach((span, index) => {
    const place = matches[index];
    while (next < alone.length && alone[next] < place) pairs.push({ a: null, b: others[alone[next++]] });
    pairs.push({ a: span, b: place < 0 ? null : others[place] });
  });
  while (next < alone.length) pairs.push({ a: null, b: others[alone[next++]] });
  return pairs;
}

// [{a, b, depth}], parents first; `a` or `b` is null where only the other trace has the span. Not recursive: it may be deep
export function align(first, second) {
  const [inFirst, inSecond] = [childrenOf(first), childrenOf(second)];
  const below = (children, span) => (span === null ? [] : (children.get(span.id) ?? []));
  const waiting = pair(inFirst.get(null), inSecond.get(null)).reverse();
  for (const each of waiting) each.depth = 0;
  const rows = [];
  while (waiting.length > 0) {
    const row = waiting.pop();
    rows.push(row);
    const pairs = pair(below(inFirst, row.a), below(inSecond, row.b));
    for (let index = pairs.length - 1; index >= 0; index -= 1) waiting.push({ ...pairs[index], depth: row.depth + 1 });
  }
  return rows;
}

// The spans of a trace about an endpoint: all where it begins with that, else the first call of it with all below.
export function from(spans, root) {
  const isRoot = span => span.service === root.service && span.operation === root.operation && span.kind === root.kind;
  const first = spans.find(isRoot);
  if (!first || spans.indexOf(first) === 0) return spans;
  const children = childrenOf(spans);
  const found = new Set();
  const waiting = [first];
  while (waiting.length > 0) {
    const span = waiting.pop();
    found.add(span.id);
    waiting.push(...(children.get(span.id) ?? []));
  }
  return spans.filter(each => found.has(each.id));
}

export const took = span => (span === null ? 0 : Math.max(0, span.end - span.start));

// milliseconds of a span in which none below it ran; what ran side by side counts once
function ownTimes(spans) {
  const children = childrenOf(spans);
  return new Map(
    spans.map(span => {
      let covered = 0;
      let until = span.start;
      for (const child of [...(children.get(span.id) ?? [])].sort((one, other) => one.start - other.start)) {
        const end = Math.min(child.end, span.end);
        covered += Math.max(0, end - Math.max(child.start, until));
        until = Math.max(until, end);
      }
      return [span.id, Math.max(0, took(span) - covered)];
    }),
  );
}

/* Where the difference is: of each operation of a service how often it came, and by how much its own time differs; the
   largest first. */
export function changes(first, second) {
  const sums = new Map();
  const add = (spans, side, sign) => {
    const own = ownTimes(spans);
    for (const span of spans) {
      const key = `${span.service}\n${keyOf(span)}`;
      const sum = sums.get(key) ?? { operation: span.operation, service: span.service, a: 0, b: 0, by: 0 };
      sum[side] += 1;
      sum.by += sign * own.get(span.id);
      sums.set(key, sum);
    }
  };
  add(first, 'a', -1);
  add(second, 'b', 1);
  return [...sums.values()].filter(each => each.by !== 0).sort((one, other) => Math.abs(other.by) - Math.abs(one.by));
}
