// The frame around each view: where one can go, whether the collector is there, and what it keeps.
import { html, useEffect, useState } from './view.js';
import { address, useResource } from './api.js';
import { Import } from '../exchange/import.js';
import { Help } from './help.js';
import { Icon } from '../parts/icons.js';
import { useKeys } from './keys.js';
import { useConnection } from './live.js';
import { go, whereLeft } from './route.js';
import { toggleTheme, useTheme } from './theme.js';
import { Welcome } from './welcome.js';
import { Kept } from './kept.js';

export const VIEWS = [
  ['findings', 'Findings'],
  ['traces', 'Traces'],
  ['services', 'Services'],
  ['errors', 'Errors'],
  ['map', 'Map'],
  ['logs', 'Logs'],
  ['meters', 'Meters'],
  ['runtime', 'Runtime'],
  ['profiles', 'Profiles'],
];

// views that are reached from another one
const ABOVE = { compare: 'traces' };

const STATES = {
  connecting: 'Connecting',
  live: 'Live',
  polling: 'Asking every 2 s',
  away: 'Collector away',
};

// another view as it was left, and from a trace back to the list as it was; the view that is shown from its beginning
const place = (name, route) =>
  route.view === name && !(name === 'traces' && route.rest[0]) ? `#/${name}` : whereLeft(name);

export function Shell({ route, children }) {
  const [help, setHelp] = useState(false);
  const state = useConnection();
  const { data: status } = useResource(address('status'));
  const empty = status && !status.segments && !status.logs && !status.meters;
  const toHelp = () => setHelp(shown => !shown);
  useKeys({
    '?': toHelp,
    '/': () => /** @type {HTMLElement | null} */ (document.querySelector('[data-search]'))?.focus(),
    d: toggleTheme,
    ...Object.fromEntries(VIEWS.map(([name], index) => [String(index), () => go(place(name, route))])),
  });
  useEffect(() => {
    const name = VIEWS.find(([key]) => key === route.view)?.[1] ?? (route.view === 'compare' ? 'Compare' : 'swagent');
    document.title = `${route.rest[0] ? `${route.rest[0].slice(0, 12)} · ` : ''}${name} · swagent collector`;
  }, [route]);
  return html`
    <div class="shell">
      <a
        class="skip"
        href="#content"
        onClick=${event => {
          event.preventDefault();
          document.getElementById('content').focus();
        }}
      >
        Skip to the content
      </a>
      <header class="top">
        <a class="brand" href="#/findings" aria-label="swagent collector">
          <${Mark} />
          <b>swagent</b>
          <span>collector</span>
        </a>
        <${State} state=${state} />
        <${Import} />
        <div class="top-tools">
          <${ThemeButton} />
          <button class="plain" type="button" onClick=${toHelp} aria-label="Help: keys (?)" title="Keys (?)">
            <${Icon} name="help" />
          </button>
        </div>
      </header>
      <nav class="nav" aria-label="Views">
        ${VIEWS.map(
          ([name, text]) => html`
            <a href=${place(name, route)} aria-current=${(ABOVE[route.view] ?? route.view) === name ? 'page' : undefined}>
              <${Icon} name=${name} />
              <span>${text}</span>
            </a>
          `,
        )}
      </nav>
      <${Kept} status=${status} />
      <main id="content" class="content" tabindex="-1">
        ${
          state === 'away' &&
          html`
            <${Away} />
          `
        }
        ${
          empty
            ? html`
                <${Welcome} status=${status} />
              `
            : children
        }
      </main>
      ${
        help &&
        html`
          <${Help} onClose=${toHelp} />
        `
      }
    </div>
  `;
}

function Mark() {
  return html`
    <svg class="mark" width="22" height="22" viewBox="0 0 32 32" aria-hidden="true">
      <rect class="mark-ground" width="32" height="32" rx="8" />
      <rect class="mark-bar" x="6" y="8" width="18" height="4" rx="2" />
      <rect class="mark-soft" x="10" y="14" width="9" height="4" rx="2" />
      <rect class="mark-bar" x="16" y="20" width="10" height="4" rx="2" />
    </svg>
  `;
}

function State({ state }) {
  return html`
    <span class=${`state ${state}`} role="status" data-state=${state}>
      <i aria-hidden="true"></i>
      ${STATES[state]}
    </span>
  `;
}

function ThemeButton() {
  const dark = useTheme() === 'dark';
  const text = dark ? 'Light colours (d)' : 'Dark colours (d)';
  return html`
    <button class="plain" type="button" onClick=${toggleTheme} aria-label=${text} title=${text}>
      <${Icon} name=${dark ? 'sun' : 'moon'} />
    </button>
  `;
}

function Away() {
  return html`
    <div class="away" role="alert">
      <${Icon} name="warning" size=${16} />
      <span>
        <b>The collector does not answer.</b> What you see is what arrived before. This page asks again every 2 s; start it with${' '}
        <code>swagent collector</code>.
      </span>
    </div>
  `;
}
