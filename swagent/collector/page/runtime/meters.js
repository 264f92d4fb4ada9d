// The meters of one instance, as charts.
import { html } from '../frame/view.js';
import { address, useResource } from '../frame/api.js';
import { byImportance, meterGroup, meterTitle } from './meter_names.js';
import { Loaded, Note } from '../parts/parts.js';
import { Select, Text } from '../parts/fields.js';
import { plural } from '../parts/format.js';
import { link, replace } from '../frame/route.js';
import { MeterChart } from './meter_chart.js';

const APPLICATION = 'Application';
const GROUPS = [APPLICATION, 'Runtime', 'The agent itself'];
const SPANS = [
  ['5', 'Last 5 min'],
  ['15', 'Last 15 min'],
  ['60', 'Last hour'],
  ['', 'Any time'],
];

export function Meters({ query }) {
  const resource = useResource(address('meters'), 5000);
  return html`
    <div class="view meters">
      <header class="view-head"><h1>Meters</h1></header>
      <${Loaded} resource=${resource}>
        ${({ meters }) =>
          meters.length === 0
            ? html`
                <${Note} title="No meter has arrived">
                  <p>swagent reports its first ones after some seconds; over HTTP the protocol has no meters.</p>
                <//>
              `
            : html`
                <${Board} meters=${meters} query=${query} />
              `}
      <//>
    </div>
  `;
}

function Board({ meters, query }) {
  const services = [...new Set(meters.map(each => each.service))].sort();
  const service = services.includes(query.service) ? query.service : services[0];
  const instances = [...new Set(meters.filter(each => each.service === service).map(each => each.instance))].sort();
  const instance = instances.includes(query.instance) ? query.instance : instances[0];
  const set = changes => replace(link(['meters'], { ...query, service, instance, ...changes }));
  const wanted = (query.q ?? '').toLowerCase();
  // the process's own have a view of their own, where they are read together
  const all = Boolean(wanted) || query.all === '1';
  const shown = meters.filter(
    each =>
      each.service === service &&
      each.instance === instance &&
      (!wanted || `${each.name} ${meterTitle(each.name)}`.toLowerCase().includes(wanted)),
  );
  return html`
    <form class="filters" role="search" aria-label="Choose meters" onSubmit=${event => event.preventDefault()}>
      <${Text}
        label="Name of a meter"
        placeholder="Name"
        search=${true}
        value=${query.q ?? ''}
        onChange=${q => set({ q })}
      />
      <${Select}
        neutral=${true}
        label="Service"
        value=${service}
        options=${services.map(name => [name, name])}
        onChange=${name => set({ service: name, instance: '' })}
      />
      <${Select}
        neutral=${true}
        roomy=${true}
        label="Instance"
        value=${instance}
        options=${instances.map(name => [name, name])}
        onChange=${name => set({ instance: name })}
      />
      <${Select}
        neutral=${true}
        label="Time"
        value=${query.last ?? '15'}
        options=${SPANS}
        onChange=${last => set({ last: last || 'all' })}
      />
    </form>
    <div class="scroll" tabindex="0" role="region" aria-label="Charts">
      <${Others} ...${{ shown, all, service, instance, set }} />
      ${
        shown.length === 0 &&
        html`
          <${Note} title="No meter has that name" />
        `
      }
      ${GROUPS.filter(group => all || group === APPLICATION).map(group => [group, shown.filter(each => meterGroup(each.name) === group).sort(byImportance)])
        .filter(([, list]) => list.length)
        .map(
          ([group, list]) => html`
            <section key=${group} aria-label=${group}>
              <h2 class="group">${group}</h2>
              <div class="charts">
                ${list.map(
                  meter => html`
                    <${MeterChart}
                      key=${`${service}/${instance}/${meter.name}`}
                      meter=${meter}
                      last=${query.last ?? '15'}
                    />
                  `,
                )}
              </div>
            </section>
          `,
        )}
    </div>
  `;
}

// the way to the meters of the process and of the agent
function Others({ shown, all, service, instance, set }) {
  const others = shown.filter(each => meterGroup(each.name) !== APPLICATION);
  if (others.length === 0 || all) return null;
  const ways = html`
    <a href=${link(['runtime', service, instance])}>The process over time</a>
    <button type="button" class="as-link" onClick=${() => set({ all: '1' })}>
      Each of ${plural(others.length, 'meter')} of the process and the agent
    </button>
  `;
  return others.length < shown.length
    ? html`
        <p class="other-meters">${ways}</p>
      `
    : html`
        <${Note} title="No meter of the application's own">
          <p>A counter, a gauge or a histogram of <code>swagent.meters</code> appears here.</p>
          <p class="other-meters">${ways}</p>
        <//>
      `;
}
