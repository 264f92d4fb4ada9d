// Whether the collector is there, and when something changed: pushed over an event stream, asked for where that breaks.
import { useEffect, useState } from './view.js';

const POLL_MS = 2000;
const STREAM_AGAIN_MS = 5000;

class Connection {
  constructor() {
    this.state = 'connecting'; // connecting, live (stream), polling, away
    this.version = null;
    this.listeners = new Set();
    this.watchers = new Set();
    this.source = null;
    this.timer = null;
    this.polling = false;
    this.streamAgainAt = 0;
  }

  start() {
    this.openStream();
    window.addEventListener('pagehide', () => this.source?.close());
    // back from the browser's cache of pages
    window.addEventListener('pageshow', event => {
      if (event.persisted) this.openStream();
    });
  }

  openStream() {
    this.source?.close();
    const source = new EventSource('/api/live');
    this.source = source;
    source.onopen = () => this.enter('live');
    source.addEventListener('changed', event => this.see(JSON.parse(event.data).version));
    source.onerror = () => {
      // its own retries would hide for how long nothing has arrived; polling shows it
      source.close();
      if (this.source !== source) return;
      this.source = null;
      this.streamAgainAt = Date.now() + STREAM_AGAIN_MS;
      this.poll();
    };
  }

  // a request got no answer: find out soon
  lose() {
    if (this.source === null) this.poll();
  }

  async poll() {
    if (this.polling) return;
    this.polling = true;
    clearTimeout(this.timer);
    try {
      const answer = await fetch('/api/status');
      const status = await answer.json();
      if (this.source === null) this.enter('polling');
      this.see(status.version);
      if (this.source === null && Date.now() >= this.streamAgainAt) this.openStream();
    } catch {
      this.enter('away');
      this.streamAgainAt = 0;
    } finally {
      this.polling = false;
    }
    if (this.state !== 'live')
      this.timer = setTimeout(() => {
        if (this.state !== 'live') this.poll();
      }, POLL_MS);
  }

  see(version) {
    if (version === this.version) return;
    this.version = version;
    this.listeners.forEach(listener => listener());
  }

  enter(state) {
    if (state === this.state) return;
    const back = this.state === 'away' || this.state === 'connecting';
    this.state = state;
    this.watchers.forEach(watcher => watcher(state));
    // it may have been restarted meanwhile, with a version that looks familiar
    if (back && state !== 'away') this.listeners.forEach(listener => listener());
  }

  onChange(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  watch(watcher) {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  }
}

export const connection = new Connection();

export function useConnection() {
  const [state, setState] = useState(connection.state);
  useEffect(() => {
    setState(connection.state);
    return connection.watch(setState);
  }, []);
  return state;
}
