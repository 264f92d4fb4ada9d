// A long list, page by page: new rows at the top by themselves while one looks at the top, counted while one does not,
// or while one is about to click: a row must not move away under the pointer.
import { useCallback, useEffect, useRef, useState } from './view.js';
import { address, fetchJson, isOld, startLoop } from './api.js';
import { connection } from './live.js';

const HOLD_MS = 2000; // after the pointer has moved
const EMPTY = { key: null, items: [], next: null, total: 0, exact: true, fresh: 0, error: null };

/**
 * @template {keyof Api} Path
 * @param {Path} path
 * @param {Record<string, any>} query
 * @param {{ rows: string, id: (item: any) => string, limit: number }} page
 * @param {any} [kept] what `keep` made when the list was left
 */
export function useList(path, query, { rows, id, limit }, kept) {
  /** @type {string} */
  const key = address(path, { ...query, limit });
  const [state, setState] = useState(kept?.state ?? EMPTY);
  const atTop = useRef(true);
  const held = useRef(null);
  const current = useRef(state);
  current.current = state;
  const loading = useRef(false);
  const refresh = useRef(() => {});

  useEffect(() => {
    atTop.current = current.current.key !== key || (kept?.atTop ?? true);
    if (current.current.key === key) hold(); // one comes back to a row: it stays where it was
    const loop = startLoop(async signal => {
      try {
        const page = await fetchJson(key, signal);
        const following = atTop.current && held.current === null;
        if (signal.aborted) return null;
        setState(old => meet(old, key, page, { rows, id, following }));
        if (isOld(page) || page.is_complete === false) loop.poke();
        return page;
      } catch (error) {
        if (!signal.aborted) setState(old => ({ ...(old.key === key ? old : EMPTY), key, error }));
        return null;
      }
    }, 1000);
    refresh.current = loop.runNow;
    const leave = connection.onChange(loop.poke);
    return () => {
      leave();
      loop.stop();
    };
  }, [key]);

  const more = useCallback(async () => {
    const { key: base, next } = current.current;
    if (!next || loading.current) return;
    loading.current = true;
    try {
      const page = await fetchJson(`${base}&${new URLSearchParams({ cursor: next })}`);
      setState(old => (old.key === base && old.next === next ? append(old, page, { rows, id }) : old));
    } catch (error) {
      setState(old => (old.key === base ? { ...old, error } : old));
    } finally {
      loading.current = false;
    }
  }, []);
  const catchUp = () => {
    if (current.current.fresh) refresh.current();
  };
  const follow = useCallback(top => {
    const arrived = top && !atTop.current;
    atTop.current = top;
    if (arrived) catchUp();
  }, []);
  const release = useCallback(() => {
    clearTimeout(held.current);
    held.current = null;
    catchUp();
  }, []);
  const hold = useCallback(() => {
    clearTimeout(held.current);
    held.current = setTimeout(release, HOLD_MS);
  }, []);
  useEffect(() => () => clearTimeout(held.current), []);
  const keep = () => ({ state: current.current, atTop: atTop.current });
  return { ...state, loading: state.key !== key, more, follow, hold, release, keep };
}

function meet(old, key, page, { rows, id, following }) {
  const items = page[rows];
  const total = page.total ?? null;
  const exact = page.total_is_exact ?? true;
  if (old.key !== key || following) return { key, items, next: page.next, total, exact, fresh: 0, error: null };
  const known = new Set(old.items.map(id));
  const fresh = items.filter(item => !known.has(id(item))).length;
  return { ...old, total, exact, fresh, error: null };
}

function append(old, page, { rows, id }) {
  const known = new Set(old.items.map(id));
  return {
    ...old,
    items: [...old.items, ...page[rows].filter(item => !known.has(id(item)))],
    next: page.next,
    error: null,
  };
}
