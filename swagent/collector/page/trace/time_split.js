// Where a request's time went: as its agent measured it, or as its spans show; pure.
import { millisOf, tagOf } from './loop_blocks.js';

const LAYERS = {
  database: 'databases',
  cache: 'caches',
  http: 'calls over HTTP',
  rpcframework: 'calls over RPC',
  mq: 'messaging',
};
const MANY = 8; // parts with a name of their own

export const isMeasured = span => tagOf(span, 'time.running') !== undefined;

// `{ measured, total, parts }`; a part is `{ kind, what, ms }`, in the order in which they are drawn.
// kinds: before, running, gc, ready, awaiting; `own` where it was not measured which of them it was
// waits: for a blocked loop, `before` the span and `within` it
export function splitOf(span, spans, { before = 0, within = 0 } = {}) {
  const { measured, total, parts } = isMeasured(span) ? measuredSplit(span, spans) : splitBySpans(span, spans);
  const all = [{ kind: 'before', what: '', ms: before }, ...withWaits(parts, within)];
  return { measured, total: total + before, parts: all.filter(each => each.ms > 0) };
}

// An answer that came while the loop was held lay in its socket. The measure has that time as awaiting, and it was a wait
// for the loop: it is taken from the longest parts.
function withWaits(parts, within) {
  let hidden = within - sumOf(parts.filter(each => each.kind === 'ready'));
  if (hidden <= 0) return parts;
  const ready = { kind: 'ready', what: '', ms: within };
  const others = parts.filter(each => each.kind !== 'ready').map(each => ({ ...each }));
  const waiting = others.filter(each => each.kind === 'awaiting' || each.kind === 'own');
  for (const part of waiting.sort((one, other) => other.ms - one.ms)) {
    const taken = Math.min(part.ms, hidden);
    part.ms -= taken;
    hidden -= taken;
  }
  ready.ms -= hidden; // more than there is cannot have been within the span
  const ahead = others.filter(each => each.kind !== 'awaiting');
  return [...ahead, ready, ...others.filter(each => each.kind === 'awaiting')];
}

const sumOf = parts => parts.reduce((sum, { ms }) => sum + ms, 0);

function measuredSplit(span, spans) {
  const [running, ready, awaiting] = ['running', 'ready', 'awaiting'].map(each => millisOf(span, `time.${each}`));
  const gc = Math.min(millisOf(span, 'time.gc'), running);
  const awaited = parsePairs(tagOf(span, 'time.awaited')) ?? bySpans(span, spans);
  const parts = [
    { kind: 'running', what: '', ms: running - gc },
    { kind: 'gc', what: '', ms: gc },
    { kind: 'ready', what: '', ms: ready },
    ...namedParts(awaited, awaiting),
  ];
  return { measured: true, total: running + ready + awaiting, parts: parts.filter(each => each.ms > 0) };
}

// Tasks may await several things at once. Then their times are more than the request awaited, and are shown as shares.
function namedParts(awaited, awaiting) {
  const sum = awaited.reduce((all, [, ms]) => all + ms, 0);
  const scale = sum > awaiting ? awaiting / sum : 1;
  const parts = awaited.map(([what, ms]) => ({ kind: 'awaiting', what, ms: ms * scale }));
  return [...parts, { kind: 'awaiting', what: '', ms: Math.max(0, awaiting - sum * scale) }];
}

function splitBySpans(span, spans) {
  const total = span.end - span.start;
  const awaited = bySpans(span, spans);
  const own = total - awaited.reduce((all, [, ms]) => all + ms, 0);
  const parts = [
    { kind: 'own', what: '', ms: own },
    ...awaited.map(([what, ms]) => ({ kind: 'awaiting', what, ms })),
  ];
  return { measured: false, total, parts: parts.filter(each => each.ms > 0) };
}

// The exit spans below a request, the longest first. A moment with several of them counts for the one that
// ended last: that is what the request waited for.
function bySpans(request, spans) {
  const found = new Map();
  let from = request.end;
  for (const span of exitsOf(request, spans).sort((one, other) => other.end - one.end)) {
    const start = Math.max(span.start, request.start);
    const ms = Math.min(span.end, from) - start;
    if (ms <= 0) continue;
    const name = LAYERS[span.layer.toLowerCase()] ?? (span.component || 'other calls');
    found.set(name, (found.get(name) ?? 0) + ms);
    from = start;
  }
  return [...found].sort((one, other) => other[1] - one[1]).slice(0, MANY);
}

// the exit spans that the request's own process made for it
function exitsOf(request, spans) {
  const inside = new Set([request.id]);
  const found = [];
  for (const span of spans) {
    if (!inside.has(span.parent) || span.kind === 'entry') continue;
    inside.add(span.id);
    if (span.kind === 'exit') found.push(span);
  }
  return found;
}

// [["PostgreSQL/asyncpg/query db:5432", 180], …]; nothing where it is something else
function parsePairs(text) {
  try {
    const found = JSON.parse(text);
    const isPair = each => Array.isArray(each) && typeof each[0] === 'string' && each[1] >= 0;
    return Array.isArray(found) && found.every(isPair) ? found.slice(0, MANY) : null;
  } catch {
    return null;
  }
}
