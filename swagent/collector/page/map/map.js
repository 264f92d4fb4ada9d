// The services and what they call, laid out by the graph library.
import { html, useMemo } from '../frame/view.js';
import { address, useResource } from '../frame/api.js';
import { count, duration, percent, short } from '../parts/format.js';
import { useKeys } from '../frame/keys.js';
import { Loaded, Note, Panel } from '../parts/parts.js';
import { link, replace } from '../frame/route.js';
import { Icon } from '../parts/icons.js';
import { Drawing, isCrowded } from './map_drawing.js';
import { around } from './neighbours.js';
import { useWide } from '../frame/theme.js';

export function ServiceMap({ query }) {
  const resource = useResource(address('map'), 2000);
  const set = changes => replace(link(['map'], { ...query, ...changes }));
  const choose = name => set({ node: name ?? '' });
  const wide = useWide();
  const data = useMemo(() => resource.data && around(resource.data, query.focus), [resource.data, query.focus]);
  useKeys({
    Escape: () => (query.node ? choose(null) : set({ focus: '' })),
    f: () => query.node && set({ focus: query.focus === query.node ? '' : query.node }),
  });
  return html`
    <div class="view map">
      <header class="view-head">
        <h1>Map</h1>
        <p class="total">
          ${
            !wide
              ? 'Who calls whom'
              : data && isCrowded(data)
                ? 'Calls per minute and median latency on the lines of what you point at or choose'
                : 'Calls per minute and median latency on each line'
          }
        </p>
        ${
          query.focus &&
          html`
            <button type="button" class="toggle on" onClick=${() => set({ focus: '' })}>
              only around ${query.focus}
              <${Icon} name="close" size=${12} />
            </button>
          `
        }
      </header>
      <${Loaded} resource=${{ ...resource, data }}>
        ${() =>
          data.nodes.length === 0
            ? html`
                <${Note} title="No service has reported a call yet" />
              `
            : html`
                <div class="split">
                  <div class="map-side">
                    <${Drawing} data=${data} chosen=${query.node} onChoose=${choose} />
                    ${
                      !wide &&
                      html`
                        <${CallList} edges=${data.edges} query=${query} />
                      `
                    }
                  </div>
                  <${Node} data=${data} query=${query} onClose=${() => choose(null)} />
                </div>
              `}
      <//>
    </div>
  `;
}

function Node({ data, query, onClose }) {
  const name = query.node;
  const node = data.nodes.find(each => each.name === name);
  if (!node) return null;
  const service = node.kind === 'service';
  const filter = service ? { service: name } : { q: name };
  return html`
    <${Panel} title=${service ? 'Service' : 'Peer'} onClose=${onClose}>
      <p class="span-title"><b>${name}</b></p>
      ${
        !service &&
        html`
          <p class="quiet">
            Known only from those who call it, or whom it calls: it reports nothing itself, or nothing of these calls.
          </p>
        `
      }
      <dl class="numbers">
        <div>
          <dt>Calls</dt>
          <dd>${count(node.calls)}</dd>
        </div>
        <div>
          <dt>Errors</dt>
          <dd class=${node.errors ? 'bad' : ''}>${count(node.errors)}</dd>
        </div>
        <div>
          <dt title="Calls that failed because a service that was called failed: they count there">Through</dt>
          <dd>${count(node.through)}</dd>
        </div>
        <div>
          <dt>p50</dt>
          <dd>${duration(node.p50)}</dd>
        </div>
      </dl>
      <p class="links">
        <a class="main-link" href=${link(['traces'], filter)}>Its traces</a>
        ${
          query.focus === name
            ? html`
                <a href=${link(['map'], { node: name })}>The whole map (f)</a>
              `
            : html`
                <a href=${link(['map'], { node: name, focus: name })}>Only its neighbours (f)</a>
              `
        }
        ${
          node.errors > 0 &&
          html`
            <a href=${link(['traces'], { ...filter, errors: 1 })}>Failed traces</a>
          `
        }${
          service &&
          html`
            <a href=${link(['services', name])}>Endpoints</a>
            <a href=${link(['logs'], filter)}>Logs</a>
            <a href=${link(['meters'], filter)}>Meters</a>
          `
        }
      </p>
      <${Calls} title="Called by" edges=${data.edges.filter(each => each.to === name)} end="from" query=${query} />
      <${Calls} title="Calls" edges=${data.edges.filter(each => each.from === name)} end="to" query=${query} />
    <//>
  `;
}

// the calls that the lines of a large drawing stand for, where there is no room for their text
function CallList({ edges, query }) {
  const busiest = [...edges].sort((one, other) => other.calls - one.calls);
  return html`
    <ul class="call-list" aria-label="Calls">
      ${busiest.map(
        each => html`
          <li key=${`${each.from}\n${each.to}`}>
            <a href=${link(['map'], { ...query, node: each.to })}>
              <span class="call-ends">
                <b dir="auto">${each.from}</b>
                <i aria-label="calls">→</i>
                <b dir="auto">${each.to}</b>
              </span>
              <span class="number">${short(each.calls_per_minute)}/min · ${duration(each.p50)}</span>
              ${
                each.errors > 0 &&
                html`
                  <span class="bad">${percent(each.error_rate)} failed</span>
                `
              }
            </a>
          </li>
        `,
      )}
    </ul>
  `;
}

function Calls({ title, edges, end, query }) {
  if (edges.length === 0) return null;
  return html`
    <h3>${title}</h3>
    <table class="table inner">
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col" class="number">/min</th>
          <th scope="col" class="number">p50</th>
          <th scope="col" class="number">p99</th>
          <th scope="col" class="number">Errors</th>
        </tr>
      </thead>
      <tbody>
        ${edges.map(
          each => html`
            <tr>
              <th scope="row"><a href=${link(['map'], { ...query, node: each[end] })}>${each[end]}</a></th>
              <td class="number" data-label="/min">${short(each.calls_per_minute)}</td>
              <td class="number" data-label="p50">${duration(each.p50)}</td>
              <td class="number" data-label="p99">${duration(each.p99)}</td>
              <td class="number" data-label="Errors">
                ${
                  each.errors
                    ? html`
                        <span class="bad">${percent(each.error_rate)}</span>
                      `
                    : '0'
                }
              </td>
            </tr>
          `,
        )}
      </tbody>
    </table>
  `;
}
