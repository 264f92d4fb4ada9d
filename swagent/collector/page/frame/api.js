// The collector's JSON, and when to ask for it again.
import { useEffect, useState } from './view.js';
import { connection } from './live.js';

export class ApiError extends Error {
  constructor(message, status, body = {}) {
    super(message);
    this.status = status; // 0: no answer at all
    this.body = body;
  }
}

/**
 * @template {keyof Api} Path
 * @param {Path} path
 * @param {Record<string, any>} [query]
 * @returns {Address<Api[Path]>}
 */
export function address(path, query = {}) {
  const kept = Object.entries(query).filter(([, value]) => value !== '' && value !== null && value !== undefined);
  return `/api/${path}${kept.length ? `?${new URLSearchParams(kept)}` : ''}`;
}

/**
 * @template Found
 * @param {Address<Found>} url
 * @param {AbortSignal} [signal]
 * @returns {Promise<Found>}
 */
export async function fetchJson(url, signal) {
  const early = await takeEarly(url);
  return early ?? ask(url, { signal, headers: { accept: 'application/json' } });
}

export async function postJson(path, body) {
  const headers = { accept: 'application/json', 'content-type': 'application/json' };
  return ask(address(path), { method: 'POST', headers, body: JSON.stringify(body) });
}

async function ask(url, options) {
  let answer;
  try {
    answer = await fetch(url, options);
  } catch (error) {
    if (options.signal?.aborted) throw error;
    connection.lose();
    throw new ApiError('The collector does not answer.', 0);
  }
  const body = await answer
    .json()
    .catch(() => ({ error: `The collector answered ${answer.status} without JSON.` }));
  if (!answer.ok) throw new ApiError(body.error ?? `The collector answered ${answer.status}.`, answer.status, body);
  return body;
}

// what `early.js` has asked for, once
function takeEarly(url) {
  const answer = window.early.get(url);
  window.early.delete(url);
  return answer;
}

// an early answer, or one that the collector had ready: a fresh one is asked for after it
export const isOld = answer => answer.version < connection.version;

// Runs `step` now, then after each poke, never twice at once, never more often than `every` ms, never while hidden.
export function startLoop(step, every) {
  const abort = new AbortController();
  let timer = null;
  let running = false;
  let wanted = false;
  let last = 0;

  async function run() {
    timer = null;
    if (document.hidden && last) return; // `wanted` stays; becoming visible runs it
    wanted = false;
    running = true;
    last = performance.now();
    try {
      await step(abort.signal);
    } finally {
      running = false;
      if (wanted) poke();
    }
  }
  function poke() {
    if (abort.signal.aborted) return;
    wanted = true;
    if (running || timer !== null) return;
    timer = setTimeout(run, Math.max(0, last + every - performance.now()));
  }
  const wake = () => {
    if (!document.hidden && wanted) poke();
  };
  document.addEventListener('visibilitychange', wake);
  run();
  return {
    poke,
    stop() {
      abort.abort();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', wake);
    },
  };
}

/**
 * What `url` answers, kept up to date; null asks for nothing. Data of another address is never shown. With `repeat` it is
 * asked for also while nothing arrives, so often in ms: where time alone changes the answer.
 *
 * @template Found
 * @param {Address<Found> | null} url
 * @param {number} [every]
 * @param {number} [repeat]
 * @returns {{ url: string | null, data: Found | null, error: any }}
 */
export function useResource(url, every = 1000, repeat = 0) {
  const [state, setState] = useState({ url: null, data: null, error: null });
  useEffect(() => {
    if (url === null) return undefined;
    const loop = startLoop(async signal => {
      try {
        const data = await fetchJson(url, signal);
        if (signal.aborted) return;
        setState({ url, data, error: null });
        if (isOld(data)) loop.poke();
      } catch (error) {
        if (!signal.aborted)
          setState(old => ({ url, data: old.url === url && error.status === 0 ? old.data : null, error }));
      }
    }, every);
    const leave = connection.onChange(loop.poke);
    const timer = repeat > 0 ? setInterval(loop.poke, repeat) : null;
    return () => {
      clearInterval(timer);
      leave();
      loop.stop();
    };
  }, [url, every, repeat]);
  return state.url === url ? state : { url, data: null, error: null };
}
