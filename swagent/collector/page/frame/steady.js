// Rows that are sorted by what changes: they stay where they are while a user is about to click.
import { useCallback, useEffect, useRef, useState } from './view.js';

const HOLD_MS = 2000; // after the pointer has moved

// `items` in order, and what to call when the pointer moves over them. Another `key` is another order, at once.
export function useSteadyOrder(items, { id, compare, key }) {
  const timer = useRef(null);
  const last = useRef({ key: null, places: new Map() });
  const [, turn] = useState(0);
  const hold = useCallback(() => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      timer.current = null;
      turn(count => count + 1);
    }, HOLD_MS);
  }, []);
  useEffect(() => () => clearTimeout(timer.current), []);
  const held = timer.current !== null && last.current.key === key;
  const place = item => last.current.places.get(id(item)) ?? Number.MAX_SAFE_INTEGER;
  const sorted = [...items].sort((one, other) => (held ? place(one) - place(other) : 0) || compare(one, other));
  last.current = { key, places: new Map(sorted.map((item, index) => [id(item), index])) };
  return { sorted, hold };
}

const isUnknown = value => value === null || value === undefined;

/* What an address says of an order: `sort=p95`, and `sort=-p95` the other way round.
   columns: {name: {of(item), text}}; of a text the first letter comes first, of a number the largest */
export function ordering(columns, sort, usual) {
  const name = (sort ?? '').replace(/^-/, '');
  const column = columns[name] ? name : usual;
  const back = Boolean(columns[name]) && sort.startsWith('-');
  const { of, text = false } = columns[column];
  const way = text !== back ? 1 : -1;
  const compare = (one, other) => {
    const [first, second] = [of(one), of(other)];
    // unknown values come last, in either direction
    if (isUnknown(first) || isUnknown(second)) return Number(isUnknown(first)) - Number(isUnknown(second));
    return way * (text ? first.localeCompare(second) : first - second);
  };
  return { column, back, compare, up: way > 0, key: `${column}${back}` };
}
