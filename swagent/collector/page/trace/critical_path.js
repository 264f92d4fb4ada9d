// The critical path: the chain of spans that determined when a request ended; pure.
//
// Spans do not say which of them waited for which. So the walk goes from the request's end backwards: of a span's children, the one
// that ended last is what it waited for; before that one began, the one that ended last before, and so on. What no child
// covers is the span's own. Three things are looked at more closely:
//
// - A child that ends after its parent, as a task does that was not awaited there, belongs to the nearest span above that
//   ends after it. If there is none it went on after the request, and is not in the path. Before it began, the path is
//   its parent's.
// - The answer to a call may come before the called one ends. What it did until then counts.
// - Times are whole milliseconds: a child may seem to end one after its parent.

const ROUNDING = 1;
const MOST_OUTLIVED = 50; // levels: a chain of thousands that each outlive the one above must not take long

// the span that a client waited for: the answer has its times
export function headOf(trace) {
  const took = trace.duration;
  return (
    trace.spans.find(each => !each.parent && each.start === trace.start && each.end - each.start === took) ??
    trace.spans[0]
  );
}

// pieces of time in order, each with the span that had it
export function criticalPath(spans, head) {
  if (!head) return [];
  const { children, starters } = awaitedChildren(spans);
  const pieces = [];
  const add = (span, start, end) => {
    if (end > start) pieces.push({ span, start, end });
  };
  // not recursive: a trace may be deep
  const open = [{ span: head, cursor: head.end, next: 0, began: null }];
  while (open.length > 0) {
    const place = open.at(-1);
    const candidates = children.get(place.span.id) ?? [];
    let child = candidates[place.next];
    while (child && !isLast(child, place)) child = candidates[(place.next += 1)];
    if (child) {
      const end = Math.min(child.end, place.cursor);
      place.next += 1;
      add(place.span, end, place.cursor);
      place.cursor = Math.max(child.start, place.span.start);
      open.push({ span: child, cursor: end, next: 0, began: place.began });
      place.began = starters.get(child.id) ?? place.began;
    } else {
      add(place.span, place.span.start, place.cursor);
      open.pop();
    }
  }
  return pieces.sort((one, other) => one.start - other.start);
}

const isLast = (child, { span, cursor, began }) =>
  child.start < cursor &&
  child.end > span.start &&
  (child.end <= cursor + ROUNDING || isAnswer(child, span) || Boolean(began?.has(child.id)));

// a call that was answered: by whom it was answered may end later
const isAnswer = (child, parent) => parent.kind === 'exit' && child.kind === 'entry' && !isMessage(child);

const isMessage = span => span.layer.toLowerCase() === 'mq';

// of each span those that it may have waited for, the last to end first; and who began those that outlived their parents
function awaitedChildren(spans) {
  const known = new Map(spans.map(each => [each.id, each]));
  const children = new Map();
  const starters = new Map();
  for (const span of spans) {
    let parent = known.get(span.parent);
    if (parent && isMessage(span) && span.kind === 'entry') continue; // its producer does not wait for it
    const outlived = new Set();
    while (parent && span.end > parent.end + ROUNDING && !isAnswer(span, parent)) {
      outlived.add(parent.id);
      parent = outlived.size < MOST_OUTLIVED ? known.get(parent.parent) : null;
    }
    if (!parent) continue;
    if (outlived.size > 0) starters.set(span.id, outlived);
    if (!children.has(parent.id)) children.set(parent.id, []);
    children.get(parent.id).push(span);
  }
  for (const each of children.values()) each.sort((one, other) => other.end - one.end || other.start - one.start);
  return { children, starters };
}

// the share of the path that each operation had, the largest first; `span` is the one with the longest piece
export function pathShares(pieces) {
  const found = new Map();
  let whole = 0;
  for (const { span, start, end } of pieces) {
    const key = [span.service, span.kind, span.operation].join('\n');
    const share = found.get(key) ?? { span, ms: 0, longest: 0, spans: new Set() };
    share.ms += end - start;
    share.spans.add(span.id);
    if (end - start > share.longest) Object.assign(share, { span, longest: end - start });
    found.set(key, share);
    whole += end - start;
  }
  return [...found.values()]
    .map(({ span, ms, spans }) => ({ span, ms, count: spans.size, share: ms / whole }))
    .sort((one, other) => other.ms - one.ms);
}

// of each span its pieces
export function piecesBySpan(pieces) {
  const found = new Map();
  for (const piece of pieces) {
    if (!found.has(piece.span.id)) found.set(piece.span.id, []);
    found.get(piece.span.id).push(piece);
  }
  return found;
}
