// Looking for spans of a trace; pure.
const texts = new WeakMap();

function textOf(span) {
  if (!texts.has(span)) {
    const tags = span.tags.map(([key, value]) => `${key}=${value}`);
    const logged = span.logs.flatMap(log => log.fields.map(([key, value]) => `${key}=${value}`));
    const parts = [span.operation, span.service, span.component, span.peer, span.instance, ...tags, ...logged];
    texts.set(span, parts.join('\n').toLowerCase());
  }
  return texts.get(span);
}

// the spans in which each of the words is, in their order
export function matching(spans, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return words.length === 0 ? [] : spans.filter(span => words.every(word => textOf(span).includes(word)));
}

// failed spans, the deepest first: where a failure began, before those that it was passed on to
export function errorsDeepestFirst(spans) {
  return spans
    .filter(each => each.error)
    .sort((one, other) => other.depth - one.depth || one.start - other.start);
}

// the one that follows the current one, in a circle; from none, the first or the last
export function following(found, currentId, by = 1) {
  if (found.length === 0) return null;
  const index = found.findIndex(each => each.id === currentId);
  if (index < 0) return by > 0 ? found[0] : found.at(-1);
  return found[(index + by + found.length) % found.length];
}

// the one that follows the place where one is, in the order of all spans
export function followingPlace(found, spans, currentId, by = 1) {
  const order = new Map(spans.map((each, index) => [each.id, index]));
  const place = order.get(currentId) ?? (by > 0 ? -1 : spans.length);
  const beyond = each => (by > 0 ? order.get(each.id) > place : order.get(each.id) < place);
  return (by > 0 ? found.find(beyond) : found.findLast(beyond)) ?? (by > 0 ? found[0] : found.at(-1)) ?? null;
}
