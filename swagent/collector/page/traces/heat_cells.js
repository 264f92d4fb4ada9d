// Where the cells of the heatmap lie, and what a box of them means. Nothing is drawn here.
import { roundDuration } from '../parts/format.js';

// ms, about a decade apart, round in the unit that is theirs: 1 ms to ten days
const DURATIONS = [1, 10, 100, 1000, 10_000, 60_000, 600_000, 3_600_000, 36_000_000, 86_400_000, 864_000_000];
const LABEL_HEIGHT = 15;

// the share of the height at which a duration lies, from below
function risesTo(map, ms) {
  const [low, high] = [Math.log(map.edges[0]), Math.log(map.edges.at(-1))];
  return (Math.log(Math.max(ms, map.edges[0])) - low) / (high - low);
}

// in pixels from the top left corner: {left, top, width, height}
export function place(map, box, width, height) {
  const column = width / map.columns;
  const [low, high] = [risesTo(map, map.edges[box.row]), risesTo(map, map.edges[box.toRow + 1])];
  return {
    left: box.column * column,
    width: (box.toColumn - box.column + 1) * column,
    top: (1 - high) * height,
    height: (high - low) * height,
  };
}

export function cellAt(map, x, y, width, height) {
  const within = (number, most) => Math.min(most, Math.max(0, number));
  const share = 1 - y / height;
  const row = map.edges.findLastIndex(edge => risesTo(map, edge) <= share);
  return { column: within(Math.floor((x / width) * map.columns), map.columns - 1), row: within(row, map.edges.length - 2) };
}

// the box between two cells
export function between(one, other) {
  return {
    column: Math.min(one.column, other.column),
    toColumn: Math.max(one.column, other.column),
    row: Math.min(one.row, other.row),
    toRow: Math.max(one.row, other.row),
  };
}

// the limits to ask the collector for; a box in the first row includes all that is faster
export function limitsOf(map, box) {
  return {
    from: map.begin + box.column * map.step,
    to: map.begin + (box.toColumn + 1) * map.step - 1,
    min_ms: box.row === 0 ? 0 : map.edges[box.row],
    max_ms: map.edges[box.toRow + 1] - 1,
  };
}

// the cells that such limits touch, or nothing when they lie outside
export function boxOf(map, { from, to, min_ms: least, max_ms: most }) {
  const column = Math.floor((from - map.begin) / map.step);
  const toColumn = Math.floor((to - map.begin) / map.step);
  const rowOf = ms => Math.max(0, map.edges.findLastIndex(edge => edge <= ms));
  if (toColumn < 0 || column >= map.columns || least >= map.edges.at(-1)) return null;
  return between(
    { column: Math.max(0, column), row: Math.min(rowOf(least), map.edges.length - 2) },
    { column: Math.min(toColumn, map.columns - 1), row: Math.min(rowOf(most), map.edges.length - 2) },
  );
}

export function countIn(map, box) {
  let [all, failed] = [0, 0];
  for (const [column, row, count, errors] of map.cells) {
    if (column < box.column || column > box.toColumn || row < box.row || row > box.toRow) continue;
    all += count;
    failed += errors;
  }
  return { all, failed };
}

// durations beside the rows: [[ms, y]], none too near to another
export function durationLabels(map, height) {
  const [low, high] = [map.edges[0], map.edges.at(-1)];
  const round = DURATIONS.filter(each => each >= low && each <= high);
  const kept = [];
  for (const ms of round.length >= 2 ? round : [...round, high, low]) {
    const y = (1 - risesTo(map, ms)) * height;
    if (kept.every(([, other]) => Math.abs(other - y) >= LABEL_HEIGHT)) kept.push([roundDuration(ms), y]);
  }
  return kept;
}

// times below the columns, as far apart as they need: [[ms, x]], at round multiples of a column
export function timesBelow(map, width, room) {
  const column = width / map.columns;
  // nor two in one second, which would read alike
  const isApart = each => each * column >= room && each * map.step >= Math.min(1000, map.columns * map.step);
  const steps = [1, 2, 5, 10, 15, 20, 30, 60].find(isApart) ?? map.columns;
  const unit = steps * map.step;
  const times = [];
  for (let time = Math.ceil(map.begin / unit) * unit; time <= map.begin + map.columns * map.step; time += unit) {
    times.push([time, ((time - map.begin) / map.step) * column]);
  }
  return times;
}
