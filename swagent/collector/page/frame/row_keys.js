// j and k in a table: they move the focus from row to row, so Enter opens and the eye follows. A way back leads to the row.
import { useEffect, useRef } from './view.js';
import { stepKeys, useKeys } from './keys.js';
import { usePlace } from './places.js';

const rows = box => [...(box.current?.querySelectorAll('[data-row]') ?? [])];
const isMain = row => row.querySelector('[data-main]') ?? row.querySelector('a');

// `name`: the address of the table; `ready`: whether its rows are there
export function useRowKeys(box, name, ready) {
  const opened = useRef(null); // the row that was pressed: the focus may be gone when one leaves
  const left = usePlace(name, () => ({ row: opened.current, top: box.current?.scrollTop ?? 0 }));
  useEffect(() => {
    if (!ready || !left || !box.current) return undefined;
    const find = () => rows(box).find(each => each.dataset.row === left.row);
    const restore = () => {
      box.current.scrollTop = left.top;
      const found = find();
      if (found) isMain(found).focus({ preventScroll: true });
    };
    restore();
    if (left.row === null || find()) return undefined;
    // it may be a row of a table that comes later; whoever does something meanwhile wants something else
    const observer = new MutationObserver(() => {
      if (!find()) return;
      observer.disconnect();
      restore();
    });
    observer.observe(box.current, { childList: true, subtree: true });
    const stop = () => observer.disconnect();
    const events = ['keydown', 'pointerdown', 'wheel'];
    events.forEach(each => window.addEventListener(each, stop, { once: true }));
    return () => {
      stop();
      events.forEach(each => window.removeEventListener(each, stop));
    };
  }, [ready]);
  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const note = event => {
      opened.current = event.target.closest?.('[data-row]')?.dataset.row ?? opened.current;
    };
    element.addEventListener('focusin', note);
    element.addEventListener('click', note);
    return () => {
      element.removeEventListener('focusin', note);
      element.removeEventListener('click', note);
    };
  }, []);
  const step = by => {
    const all = rows(box);
    const at = all.indexOf(document.activeElement?.closest?.('[data-row]'));
    const next = all[at < 0 ? (by > 0 ? 0 : -1) : Math.min(all.length - 1, Math.max(0, at + by))];
    if (!next) return false;
    isMain(next).focus({ preventScroll: true });
    next.scrollIntoView({ block: 'nearest' });
    return true;
  };
  useKeys({
    ...stepKeys(step),
    g: () => {
      box.current.scrollTop = 0;
    },
  });
}
