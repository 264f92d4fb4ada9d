// Where failures began in a trace, and whether a request failed because of them; pure.

// `{ own, handled }`: spans; what only came through from a span below is in neither
export function failuresOf(spans) {
  const known = new Map(spans.map(each => [each.id, each]));
  const passed = new Set(spans.filter(each => each.error).map(each => each.parent));
  const own = [];
  const handled = [];
  for (const span of spans) {
    if (!span.error || passed.has(span.id)) continue;
    (isHandled(span, known) ? handled : own).push(span);
  }
  return { own, handled };
}

// a span above it has not failed, and waited for it; that a message's consumer fails is no matter of its producer
function isHandled(span, known) {
  let below = span;
  while (below.parent && !(below.kind === 'entry' && below.layer.toLowerCase() === 'mq')) {
    const above = known.get(below.parent);
    if (!above) return false;
    if (!above.error) return below.end <= above.end;
    below = above;
  }
  return false;
}
