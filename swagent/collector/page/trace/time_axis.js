// Where moments are on the time axis, whole or zoomed; pure. Windows are in milliseconds after the axis begins.

// above ten seconds people count by the clock
const CLOCK_STEPS_S = [10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400];
const LEAST = 1; // millisecond of a window

// when the axis begins, and how long it is; waits: for a blocked loop, some of them before their span
export function rangeOf(trace, waits = new Map()) {
  let from = trace.start;
  for (const span of trace.spans) from = Math.min(from, span.start - (waits.get(span.id)?.before ?? 0));
  let length = Math.max(1, trace.duration);
  for (const span of trace.spans) length = Math.max(length, span.end - from);
  return { from, length };
}

// Where consumers of its messages go on for longer than a request took, it is what one looks at first: its window, with
// some room after it; else nothing.
const MUCH = 1; // of its own time
const ROOM = 0.08;
export function requestWindow({ start, duration, after, is_messaging: isMessaging }, range) {
  if (!isMessaging || after < duration * MUCH || duration < LEAST) return null;
  const from = start - range.from;
  return windowOf(from, from + duration * (1 + ROOM), range.length);
}

// round ticks: 1, 2 or 5 of something, at most six
export function axis({ from, length }, window = null) {
  const begin = window ? window.from : 0;
  const width = window ? window.to - window.from : length;
  const raw = time => ((time - from - begin) / width) * 100;
  const at = time => Math.min(100, Math.max(0, raw(time)));
  const ticks = [];
  const step = stepOf(width);
  for (let value = Math.ceil(begin / step) * step; value <= begin + width * 0.93; value += step)
    ticks.push({ value, at: ((value - begin) / width) * 100 });
  // 'before' and 'after': not in the window
  const side = ({ start, end }) => (raw(end) < 0 ? 'before' : raw(start) > 100 ? 'after' : '');
  const timeAt = percent => from + begin + (percent / 100) * width;
  return { at, side, ticks, timeAt, from, length, window };
}

function stepOf(width) {
  const raw = Math.max(1, width / 5); // what is measured is whole milliseconds
  const power = 10 ** Math.floor(Math.log10(raw));
  const decimal = [1, 2, 5, 10].map(each => each * power).find(each => each >= raw);
  return raw > 10_000 ? (CLOCK_STEPS_S.map(each => each * 1000).find(each => each >= raw) ?? decimal) : decimal;
}

// as the address has it: `120-480`
export function parseWindow(text, length) {
  const [, from, to] = /^(\d+)-(\d+)$/.exec(text ?? '') ?? [];
  return from === undefined ? null : windowOf(Number(from), Number(to), length);
}

export const formatWindow = window => (window ? `${window.from}-${window.to}` : '');

// whole milliseconds within the axis; nothing where that is all of it
export function windowOf(one, other, length) {
  let from = Math.max(0, Math.floor(Math.min(one, other)));
  const to = Math.min(Math.ceil(length), Math.max(Math.ceil(Math.max(one, other)), from + LEAST));
  from = Math.max(0, Math.min(from, to - LEAST));
  return from <= 0 && to >= length ? null : { from, to };
}

// factor 0.5: half of what is seen, around a moment
export function zoomed(window, length, factor, centre) {
  const { from, to } = window ?? { from: 0, to: length };
  const middle = Math.min(to, Math.max(from, centre ?? (from + to) / 2));
  return windowOf(middle - (middle - from) * factor, middle + (to - middle) * factor, length);
}

// to the side, by a share of what is seen
export function panned(window, length, share) {
  if (!window) return null;
  const width = window.to - window.from;
  const from = Math.min(Math.max(0, Math.round(window.from + width * share)), Math.max(0, Math.ceil(length) - width));
  return windowOf(from, from + width, length);
}
