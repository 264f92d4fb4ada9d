// Where each list was left: its rows, its scroll, its selection. So the way back, by whatever key, leads to the same row.
import { useLayoutEffect, useRef, useState } from './view.js';

const MOST = 20;
const places = new Map();

// the note made when the list of this name was left, or nothing; `note()` makes the one for the next time it is left
export function usePlace(name, note) {
  const [found] = useState(() => places.get(name) ?? null);
  const latest = useRef({ name, note });
  latest.current = { name, note };
  useLayoutEffect(
    () => () => {
      const { name: left, note: make } = latest.current;
      places.delete(left);
      places.set(left, make());
      if (places.size > MOST) places.delete(places.keys().next().value);
    },
    [],
  );
  return found;
}

// of a list inside an element
export const scrolled = box => box.current?.querySelector('.virtual')?.scrollTop ?? 0;
