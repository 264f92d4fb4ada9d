// The search of the traces. All of it is in the address.
import { html, useState } from '../frame/view.js';
import { Icon } from '../parts/icons.js';
import { Select, Text, Toggle } from '../parts/fields.js';
import { address, useResource } from '../frame/api.js';
import { TimeWindow } from '../parts/time_window.js';
import { link, replace } from '../frame/route.js';
import { QueryField } from './query_field.js';

const NAMES = ['service', 'endpoint', 'min_ms', 'max_ms', 'errors', 'from', 'to', 'q', 'sort'];
const SPANS = [
  ['', 'Any time'],
  ['1', 'Last minute'],
  ['5', 'Last 5 min'],
  ['15', 'Last 15 min'],
  ['60', 'Last hour'],
];

// the filters for the collector: a relative time becomes absolute in steps of ten seconds: the address stays put
export function filtersOf(query) {
  const filters = Object.fromEntries(NAMES.filter(name => query[name]).map(name => [name, query[name]]));
  if (query.last) filters.from = String(Math.floor(Date.now() / 10_000) * 10_000 - Number(query.last) * 60_000);
  for (const name of ['min_ms', 'max_ms']) {
    if (filters[name] !== undefined && !/^\d+$/.test(filters[name])) delete filters[name];
  }
  return filters;
}

// `error`: why the query cannot be read
export function TraceFilters({ query, error, onOpen }) {
  const [open, setOpen] = useState(false);
  const set = changes => replace(link(['traces'], { ...query, ...changes }));
  const { data } = useResource(address('services'), 3000);
  const names = (data?.services ?? []).map(each => each.name);
  const used = ['service', 'endpoint', 'min_ms', 'max_ms', 'errors', 'last', 'from', 'sort'].filter(
    name => query[name],
  ).length;
  return html`
    <form class="filters" role="search" aria-label="Search traces" onSubmit=${event => event.preventDefault()}>
      <${QueryField} value=${query.q ?? ''} error=${error} onChange=${q => set({ q })} onOpen=${onOpen} />
      <button
        type="button"
        class="filters-open"
        aria-expanded=${open ? 'true' : 'false'}
        onClick=${() => setOpen(!open)}
      >
        <${Icon} name="filter" size=${15} />
        Filters${
          used > 0 &&
          html`
            <b>${used}</b>
          `
        }
      </button>
      <div class=${`filters-more ${open ? 'open' : ''}`}>
        <${Select}
          label="Service"
          value=${query.service ?? ''}
          options=${[['', 'All services'], ...names.map(name => [name, name])]}
          onChange=${service => set({ service, endpoint: '' })}
        />
        <${Endpoint}
          service=${query.service}
          value=${query.endpoint ?? ''}
          onChange=${endpoint => set({ endpoint })}
        />
        <span class="range" role="group" aria-label="Duration">
          <${Text}
            label="At least, in milliseconds"
            placeholder="≥ ms"
            numeric=${true}
            value=${query.min_ms ?? ''}
            onChange=${value => set({ min_ms: value })}
          />
          <i aria-hidden="true">–</i>
          <${Text}
            label="At most, in milliseconds"
            placeholder="≤ ms"
            numeric=${true}
            value=${query.max_ms ?? ''}
            onChange=${value => set({ max_ms: value })}
          />
        </span>
        <${Toggle}
          label="Errors only"
          on=${query.errors === '1'}
          onChange=${on => set({ errors: on ? '1' : '' })}
        />
        <${TimeWindow} query=${query} windows=${SPANS} onChange=${set} />
        <${Select}
          label="Order"
          value=${query.sort ?? ''}
          options=${[
            ['', 'Newest first'],
            ['slowest', 'Slowest first'],
          ]}
          onChange=${sort => set({ sort })}
        />
      </div>
    </form>
  `;
}

// an endpoint is chosen whole; part of its name is what the search is for
function Endpoint({ service, value, onChange }) {
  const { data } = useResource(service ? address(`services/${encodeURIComponent(service)}/endpoints`) : null, 5000);
  const names = (data?.endpoints ?? []).map(each => each.name).filter(Boolean);
  return html`
    <${Select}
      label="Endpoint"
      value=${value}
      options=${[['', 'All endpoints'], ...names.map(name => [name, name])]}
      onChange=${onChange}
      disabled=${!service && !value}
      hint=${service ? '' : 'Choose a service first'}
    />
  `;
}
