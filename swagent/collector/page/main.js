// The page: which view is shown, and what surrounds it.
import { html, render } from './frame/view.js';
import { connection } from './frame/live.js';
import { listenForKeys } from './frame/keys.js';
import { useRoute } from './frame/route.js';
import { Shell } from './frame/shell.js';
import { Traces } from './traces/traces.js';
import { Trace } from './trace/trace.js';
import { Services } from './services/services.js';
import { Errors } from './errors/errors.js';
import { Compare } from './compare/compare.js';
import { ServiceMap } from './map/map.js';
import { Logs } from './logs/logs.js';
import { Meters } from './runtime/meters.js';
import { Moved } from './runtime/moved.js';
import { Runtime } from './runtime/runtime.js';
import { Profiles } from './profiles/profiles.js';
import { Note } from './parts/parts.js';

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
