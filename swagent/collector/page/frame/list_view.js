// The behaviour of every long list: one active row, the keys that move it and open it, and the focus that follows.
import { useEffect, useMemo, useState } from './view.js';
import { isOn, stepKeys, useKeys } from './keys.js';

/**
 * @template Item
 * @param {object} list
 * @param {Item[]} list.items in order
 * @param {(item: Item) => string} list.id
 * @param {import('preact').RefObject<any>} list.box what holds the list
 * @param {string} list.row a selector of what takes the focus in the active row
 * @param {string | null} [list.kept] the id of the row that was active when the list was left
 * @param {string} [list.used] a selector of what has a use for Enter of its own
 * @param {(item: Item) => void} [list.onStep] after j or k
 * @param {() => void} [list.onTop] after g
 * @param {(item: Item) => void} list.onOpen after Enter
 * @param {() => boolean} [list.onClose] first for Escape: whether it has closed something
 * @param {() => void} [list.onEscape] last for Escape: no row is active any more
 */
export function useListView({ items, id, box, row, kept = null, used, onStep, onTop, onOpen, onClose, onEscape }) {
  const [activeId, setActiveId] = useState(kept);
  const active = useMemo(() => items.findIndex(each => id(each) === activeId), [items, activeId]);
  const step = by => {
    if (active < 0 && by < 0) return;
    const next = items[active < 0 ? 0 : Math.min(items.length - 1, Math.max(0, active + by))];
    if (!next) return;
    setActiveId(id(next));
    onStep?.(next);
  };
  const toTop = () => {
    box.current.querySelector('.virtual').scrollTop = 0;
    onTop?.();
  };
  // first what is open beside the list, then the row, then the search
  const escape = () => {
    if (onClose?.()) return;
    if (activeId !== null) setActiveId(null);
    else onEscape();
  };
  useKeys({
    ...stepKeys(step),
    g: toTop,
    Enter: event => {
      if (isOn(event, used)) return false;
      const chosen = items[active] ?? (items.length === 1 ? items[0] : null);
      if (!chosen) return false;
      onOpen(chosen);
      return true;
    },
    ...(onEscape ? { Escape: escape } : {}),
  });
  useEffect(() => {
    // the row moves as one types what is looked for, or `/` was quicker than the way back
    if (document.activeElement?.closest('input, select')) return;
    box.current.querySelector(row)?.focus({ preventScroll: true });
  }, [active]);
  return { active, activeId, setActiveId, toTop };
}
