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
  costs.set(body, costIn(answer.headers.get('server-timing')));
  return body;
}

// milliseconds of the collector's processor that an answer took, by the answer
const costs = new WeakMap();

// the answer that `early.js` has asked for, once
function takeEarly(url) {
  const answer = window.early.get(url);
  window.early.delete(url);
  return answer;
}

// an early answer, or one that the collector had ready: a fresh one is asked for after it
export const isOld = answer => answer.version < connection.version;

// an answer that takes long is asked for less often, so that an open page takes little of the collector's processor
const SHARE = 80;
const LONGEST_REST_MS = 30_000;

export function costIn(timing) {
  return Number(/^query;dur=([\d.]+)$/.exec(timing ?? '')?.[1] ?? 0);
}

// Runs `step`, which returns the answer, now, then after each poke, never twice at once, never while hidden, never more
// often than `every` ms, and so that answers take an eightieth of the collector's time. `runNow` does not wait for that.
export function startLoop(step, every) {
  const abort = new AbortController();
  let timer = null;
  let running = false;
  let wanted = false;
  let hasRun = false;
  let next = 0; // when it may run again

  async function run() {
    timer = null;
    if (document.hidden && hasRun) return; // `wanted` stays; becoming visible runs it
    wanted = false;
    running = true;
    hasRun = true;
    next = performance.now() + every;
    try {
      const cost = costs.get(await step(abort.signal)) ?? 0;
      next = Math.max(next, performance.now() + Math.min(cost * SHARE, LONGEST_REST_MS));
    } finally {
      running = false;
      if (wanted) poke();
    }
  }
  function poke() {
    if (abort.signal.aborted) return;
    wanted = true;
    if (running || timer !== null) return;
    timer = setTimeout(run, Math.max(0, next - performance.now()));
  }
  const wake = () => {
    if (!document.hidden && wanted) poke();
  };
  document.addEventListener('visibilitychange', wake);
  run();
  return {
    poke,
    runNow() {
      clearTimeout(timer);
      timer = null;
      next = 0;
      poke();
    },
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
        if (signal.aborted) return null;
        setState({ url, data, error: null });
        if (isOld(data)) loop.poke();
        return data;
      } catch (error) {
        if (!signal.aborted)
          setState(old => ({ url, data: old.url === url && error.status === 0 ? old.data : null, error }));
        return null;
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
