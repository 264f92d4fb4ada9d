// Light or dark: the system's choice until one is made here, which is kept.
import { useEffect, useState } from './view.js';

const KEY = 'swagent-theme';
const system = window.matchMedia('(prefers-color-scheme: dark)');
const watchers = new Set();

export function theme() {
  return document.documentElement.dataset.theme ?? (system.matches ? 'dark' : 'light');
}

export function toggleTheme() {
  const chosen = theme() === 'dark' ? 'light' : 'dark';
  document.documentElement.dataset.theme = chosen;
  try {
    localStorage.setItem(KEY, chosen);
  } catch {
    // storage is forbidden here: the choice holds until the page is left
  }
  watchers.forEach(watcher => watcher());
}

system.addEventListener('change', () => watchers.forEach(watcher => watcher()));

export function useTheme() {
  const [current, setCurrent] = useState(theme);
  useEffect(() => {
    const follow = () => setCurrent(theme());
    watchers.add(follow);
    return () => watchers.delete(follow);
  }, []);
  return current;
}

// a colour of the style sheet, for canvases
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

export function useWide(query = '(min-width: 760px)') {
  const [wide, setWide] = useState(() => window.matchMedia(query).matches);
  useEffect(() => {
    const list = window.matchMedia(query);
    const follow = () => setWide(list.matches);
    list.addEventListener('change', follow);
    return () => list.removeEventListener('change', follow);
  }, [query]);
  return wide;
}
