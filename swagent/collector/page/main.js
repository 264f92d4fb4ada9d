// The page: which view is shown, and what surrounds it.
import { html, render } from './frame/view.js';
import { connection } from './frame/live.js';
import { later, whenIdle } from './frame/later.js';
import { listenForKeys } from './frame/keys.js';
import { useRoute } from './frame/route.js';
import { Shell } from './frame/shell.js';
import { Findings } from './findings/findings.js';
import { Traces } from './traces/traces.js';
import { Note } from './parts/parts.js';

const Trace = later(async () => (await import('./trace/trace.js')).Trace);
const Services = later(async () => (await import('./services/services.js')).Services);
const Errors = later(async () => (await import('./errors/errors.js')).Errors);
const Compare = later(async () => (await import('./compare/compare.js')).Compare);
const ServiceMap = later(async () => (await import('./map/map.js')).ServiceMap);
const Logs = later(async () => (await import('./logs/logs.js')).Logs);
const Meters = later(async () => (await import('./runtime/meters.js')).Meters);
const Runtime = later(async () => (await import('./runtime/runtime.js')).Runtime);
const Profiles = later(async () => (await import('./profiles/profiles.js')).Profiles);
const Moved = later(async () => (await import('./runtime/moved.js')).Moved);
const LATER = [Trace, Services, Errors, Compare, ServiceMap, Logs, Meters, Runtime, Profiles, Moved];

function view({ view: name, rest, query }) {
  switch (name) {
    case 'traces':
      return rest[0]
        ? html`
            <${Trace} id=${rest[0]} query=${query} key=${rest[0]} />
          `
        : html`
            <${Traces} query=${query} />
          `;
    case 'findings':
      return html`
        <${Findings} query=${query} />
      `;
    case 'services':
      return html`
        <${Services} query=${query} selected=${rest[0]} />
      `;
    case 'errors':
      return html`
        <${Errors} query=${query} selected=${rest[0]} />
      `;
    case 'compare':
      return html`
        <${Compare} first=${rest[0]} second=${rest[1]} query=${query} />
      `;
    case 'map':
      return html`
        <${ServiceMap} query=${query} />
      `;
    case 'logs':
      return html`
        <${Logs} query=${query} />
      `;
    case 'meters':
      return html`
        <${Meters} query=${query} />
      `;
    case 'runtime':
      return html`
        <${Runtime} rest=${rest} query=${query} />
      `;
    case 'instances':
    case 'ledgers':
      return html`
        <${Moved} query=${query} />
      `;
    case 'profiles':
      return html`
        <${Profiles} id=${rest[0]} query=${query} />
      `;
    default:
      return html`
        <${Note} title="There is no such view">
          <p><a href="#/traces">To the traces</a></p>
        <//>
      `;
  }
}

function App() {
  const route = useRoute();
  return html`
    <${Shell} route=${route}>${view(route)}<//>
  `;
}

connection.start();
listenForKeys();
render(
  html`
    <${App} />
  `,
  document.getElementById('app'),
);
whenIdle(() => {
  // a view that fails to load is asked for again when it is shown
  for (const each of LATER) each.load().catch(() => {});
});
