// An answer about a window of time that ends now: it slides, and what is shown stays until the next answer is there.
import { useEffect, useState } from './view.js';
import { address, fetchJson, isOld, startLoop } from './api.js';
import { connection } from './live.js';

const STEP_MS = 10_000;

// `last`: minutes up to now; else `from` and `to`, as far as they are there. In steps, so that the address stays put.
/** @param {{ last?: string, from?: string, to?: string }} time */
export function bounds({ last, from, to }, now = Date.now()) {
  if (Number(last) > 0) return { from: String(Math.floor(now / STEP_MS) * STEP_MS - Number(last) * 60_000) };
  return { from, to };
}

/**
 * What `path` answers to a query, within a time.
 *
 * @template {keyof Api} Path
 * @param {Path | null} path
 * @param {Record<string, any>} query
 * @param {{ last?: string, from?: string, to?: string }} time
 * @param {number} [every]
 * @returns {{ key: string | null, data: Api[Path] | null, error: any }}
 */
export function useWindowed(path, query, time, every = 1000) {
  const { last, from, to } = time;
  const key = path === null ? null : `${address(path, query)} ${last ?? ''} ${from ?? ''} ${to ?? ''}`;
  const [state, setState] = useState({ key, data: null, error: null });
  useEffect(() => {
    if (key === null) return undefined;
    const loop = startLoop(async signal => {
      try {
        const data = await fetchJson(address(path, { ...query, ...bounds(time) }), signal);
        if (signal.aborted) return null;
        setState({ key, data, error: null });
        if (isOld(data)) loop.poke();
        return data;
      } catch (error) {
        if (!signal.aborted)
          setState(old => ({ key, data: old.key === key && error.status === 0 ? old.data : null, error }));
        return null;
      }
    }, every);
    const leave = connection.onChange(loop.poke);
    // silence is news too, where the window goes on
    const timer = last ? setInterval(loop.poke, STEP_MS) : null;
    return () => {
      clearInterval(timer);
      leave();
      loop.stop();
    };
  }, [key, every]);
  return state.key === key ? state : { key, data: null, error: null };
}
