// Who reports: each process with its properties, its runtime and what happened to it.
import { html } from '../frame/view.js';
import { address, useResource } from '../frame/api.js';
import { ago, moment } from '../parts/format.js';
import { RUNTIME_FIRST } from './meter_names.js';
import { MeterChart } from './meter_chart.js';
import { Loaded, Note, Pairs, Service } from '../parts/parts.js';
import { Select } from '../parts/fields.js';
import { link, replace } from '../frame/route.js';

const STATES = {
  alive: 'It was heard from within the last minute',
  silent: 'It was not heard from for more than a minute, and did not say that it stops',
  stopped: 'It said that it stops',
};

// those that live first: the others are what restarts have left
const byLife = (one, other) =>
  other.alive - one.alive || one.service.localeCompare(other.service) || one.name.localeCompare(other.name);

export function Instances({ query }) {
  const resource = useResource(address('instances', { service: query.service }), 3000);
  const events = useResource(address('events', { service: query.service }), 5000);
  const { data: known } = useResource(address('services'), 5000);
  const names = (known?.services ?? []).map(each => each.name);
  return html`
    <div class="view instances">
      <header class="view-head"><h1>Instances</h1></header>
      <form class="filters" aria-label="Choose instances" onSubmit=${event => event.preventDefault()}>
        <${Select}
          label="Service"
          value=${query.service ?? ''}
          options=${[['', 'All services'], ...names.map(name => [name, name])]}
          onChange=${service => replace(link(['instances'], { service }))}
        />
      </form>
      <div class="scroll">
        <${Loaded} resource=${resource}>
          ${({ instances }) =>
            instances.length === 0
              ? html`
                  <${Note} title="No instance has reported its properties">
                    <p>Agents send them once a minute or so.</p>
                  <//>
                `
              : html`
                  <div class="cards">
                    ${[...instances].sort(byLife).map(
                      each => html`
                        <${Instance}
                          key=${`${each.service}/${each.name}`}
                          instance=${each}
                          events=${(events.data?.events ?? []).filter(event => event.service === each.service && (!event.instance || event.instance === each.name))}
                        />
                      `,
                    )}
                  </div>
                `}
        <//>
      </div>
    </div>
  `;
}

function Instance({ instance, events }) {
  const pairs = Object.entries(instance.properties);
  const runtime = RUNTIME_FIRST.filter(name => instance.meters.includes(name)).slice(0, 2);
  return html`
    <article class="card instance" aria-label=${instance.name}>
      <header>
        <span class=${`alive ${instance.state === 'alive' ? 'yes' : 'no'}`} title=${STATES[instance.state]}>
          <i aria-hidden="true"></i>
          ${instance.state}
        </span>
        <h2>${instance.name}</h2>
        <p class="facts">
          <${Service} name=${instance.service} />
          ${
            instance.language &&
            html`
              <span>${instance.language}</span>
            `
          }
          <span>seen ${ago(instance.last_seen)}</span>
        </p>
      </header>
      ${
        runtime.length > 0 &&
        html`
          <div class="pair-of-charts">
            ${runtime.map(
              name => html`
                <${MeterChart}
                  key=${name}
                  meter=${{ service: instance.service, instance: instance.name, name }}
                  height=${90}
                  plain=${true}
                />
              `,
            )}
          </div>
        `
      }
      <p class="links">
        ${
          instance.meters.length > 0 &&
          html`
            <a href=${link(['meters'], { service: instance.service, instance: instance.name })}>
              All meters (${instance.meters.length})
            </a>
          `
        }
        <a href=${link(['traces'], { service: instance.service })}>Traces</a>
        <a href=${link(['logs'], { service: instance.service })}>Logs</a>
      </p>
      ${
        pairs.length > 0 &&
        html`
          <${Pairs} pairs=${pairs} label="Properties" />
        `
      }
      ${
        events.length > 0 &&
        html`
          <h3>Events</h3>
          <ul class="events">
            ${events.slice(0, 6).map(
              each => html`
                <li class=${each.type?.toLowerCase() === 'error' ? 'bad' : ''}>
                  <time>${moment(each.time, false)}</time>
                  <b>${each.name}</b>
                  <span>${each.message}</span>
                </li>
              `,
            )}
          </ul>
        `
      }
    </article>
  `;
}
