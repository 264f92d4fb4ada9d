// Where we are is in the address: `#/traces/ID?span=...`. The browser's back button and a copied link just work.
import { useEffect, useState } from './view.js';

export function parseRoute(hash) {
  const [path, search = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const parts = path.split('/').map(decode);
  return {
    view: parts[0] || 'findings',
    rest: parts.slice(1),
    query: Object.fromEntries(new URLSearchParams(search)),
  };
}

export function link(parts, query = {}) {
  const path = parts.map(encodeURIComponent).join('/');
  const kept = Object.entries(query).filter(([, value]) => value !== '' && value !== null && value !== undefined);
  return `#/${path}${kept.length ? `?${new URLSearchParams(kept)}` : ''}`;
}

export function go(href) {
  location.hash = href;
}

// for what should not make a step of its own in the history, such as each letter of a search
export function replace(href) {
  if (location.hash === href) return;
  history.replaceState(history.state, '', href);
  window.dispatchEvent(new HashChangeEvent('hashchange'));
}

// where each view was left, with its search: of the traces their list, not the one that was opened
const left = new Map();

export const whereLeft = view => left.get(view) ?? `#/${view}`;
export const toList = () => go(whereLeft('traces'));

export function useRoute() {
  const [route, setRoute] = useState(() => parseRoute(location.hash));
  useEffect(() => {
    const follow = () => {
      const now = parseRoute(location.hash);
      if (now.view !== 'traces' || !now.rest[0]) left.set(now.view, location.hash || '#/findings');
      setRoute(now);
    };
    follow();
    window.addEventListener('hashchange', follow);
    return () => window.removeEventListener('hashchange', follow);
  }, []);
  return route;
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // a hand-made address with a single percent sign
  }
}
