// The parts that several views are made of.
import { html, useEffect, useRef, useState } from '../frame/view.js';
import { colourClass } from './colours.js';
import { Icon } from './icons.js';

export function Service({ name, quiet = false }) {
  return html`
    <span class=${`service ${quiet ? 'quiet' : ''} ${colourClass(name)}`}>
      <i class="dot" aria-hidden="true"></i>
      <span class="service-name" dir="auto" title=${name}>${name}</span>
    </span>
  `;
}

export function Copy({ text, label }) {
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return undefined;
    const timer = setTimeout(() => setDone(false), 1500);
    return () => clearTimeout(timer);
  }, [done]);
  const copy = async event => {
    event.stopPropagation();
    setDone(await copyText(text));
  };
  return html`
    <button class="copy" type="button" onClick=${copy} aria-label=${`Copy ${label}`} title=${`Copy ${label}`}>
      <${Icon} name=${done ? 'check' : 'copy'} size=${14} />
      <span class="out-of-sight" role="status">${done ? 'Copied' : ''}</span>
    </button>
  `;
}

// the clipboard's own interface exists in secure contexts only: 127.0.0.1 is one, another host named to --host is not
export async function copyText(text) {
  if (navigator.clipboard) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // refused by the browser: the older way may still work
    }
  }
  const field = document.createElement('textarea');
  field.value = text;
  field.className = 'out-of-sight';
  document.body.append(field);
  field.select();
  const done = document.execCommand('copy');
  field.remove();
  return done;
}

// beside the title, where nothing moves when it comes and goes
export function Clear({ view, filters }) {
  return Object.keys(filters).length > 0
    ? html`
        <a class="clear" href=${`#/${view}`}>Clear the search</a>
      `
    : null;
}

export function Note({ title, children, kind = '' }) {
  return html`
    <div class=${`note ${kind}`} role=${kind === 'error' ? 'alert' : 'status'}>
      <p class="note-title">${title}</p>
      ${children}
    </div>
  `;
}

// an answer that is an error (and the way out), or not here yet, or the content
export function Loaded({ resource, children, way }) {
  const { data, error } = resource;
  if (data) return children(data);
  if (error)
    return html`
      <${Note} title=${error.status === 404 ? 'Not found' : 'That did not work'} kind="error">
        <p>${sentence(error.message)}</p>
        ${way}
      <//>
    `;
  return html`
    <div class="loading" role="status"><span class="out-of-sight">Loading</span></div>
  `;
}

export const sentence = text => `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;

// `beside(key, value)`: more to show beside a value
export function Pairs({ pairs, label, beside }) {
  return html`
    <dl class="pairs" aria-label=${label}>
      ${pairs.map(
        ([key, value]) => html`
          <div>
            <dt>${key}</dt>
            <dd>
              <span dir="auto">${String(value)}</span>
              ${beside?.(key, value)}
              <${Copy} text=${String(value)} label=${key} />
            </dd>
          </div>
        `,
      )}
    </dl>
  `;
}

// beside the content where there is room, over it where there is not; what it shows is in the address
export function Panel({ title, onClose, children }) {
  const box = useRef(null);
  useEffect(() => {
    if (!window.matchMedia('(min-width: 760px)').matches) box.current.focus();
  }, []);
  return html`
    <aside class="panel" aria-label=${title} ref=${box} tabindex="-1">
      <header class="panel-head">
        <h2>${title}</h2>
        <button class="plain" type="button" onClick=${onClose} aria-label="Close details (Esc)" title="Close (Esc)">
          <${Icon} name="close" />
        </button>
      </header>
      <div class="panel-body">${children}</div>
    </aside>
  `;
}
