// The failures, in groups: each exception at one place of the application's code is one row, however often it came.
import { html, useRef } from '../frame/view.js';
import { address, useResource } from '../frame/api.js';
import { Select, Text } from '../parts/fields.js';
import { Icon } from '../parts/icons.js';
import { count, plural } from '../parts/format.js';
import { Clear, Note } from '../parts/parts.js';
import { scrolled, usePlace } from '../frame/places.js';
import { go, link, replace } from '../frame/route.js';
import { useListView } from '../frame/list_view.js';
import { useSteadyOrder } from '../frame/steady.js';
import { useWide } from '../frame/theme.js';
import { VirtualList } from '../frame/virtual.js';
import { useWindowed } from '../frame/windowed.js';
import { TimeWindow, timeOf } from '../parts/time_window.js';
import { ErrorGroup } from './error_group.js';
import { Head, Row } from './error_row.js';

const ORDERS = [
  ['', 'Newest first'],
  ['count', 'Most first'],
  ['first', 'New kinds first'],
];
const BY = { count: each => each.count, first: each => each.first };

export function Errors({ query, selected }) {
  return selected
    ? html`
        <${ErrorGroup} id=${selected} query=${query} key=${selected} />
      `
    : html`
        <${List} query=${query} />
      `;
}

function List({ query }) {
  const box = useRef(null);
  const opened = useRef(null);
  const place = usePlace(link(['errors'], query), () => ({ active: opened.current ?? activeId, top: scrolled(box) }));
  const { service, endpoint, q, sort } = query;
  const { data, error } = useWindowed('errors', { service, endpoint, q, sort }, timeOf(query));
  const by = BY[sort] ?? (each => each.last);
  const { sorted, hold } = useSteadyOrder(data?.groups ?? [], {
    id: each => each.id,
    compare: (one, other) => by(other) - by(one),
    key: sort ?? '',
  });
  const wide = useWide('(min-width: 900px)');
  const to = id => link(['errors', id], query);
  const { active, activeId } = useListView({
    items: sorted,
    id: each => each.id,
    box,
    row: '.error-row.active',
    kept: place?.active,
    onOpen: group => go(to(group.id)),
    onEscape: () => go('#/errors'),
  });
  const height = wide ? 64 : 104;
  const row = (group, index) => html`
    <${Row}
      key=${group.id}
      group=${group}
      href=${to(group.id)}
      index=${index}
      height=${height}
      active=${index === active}
      total=${sorted.length}
      width=${data.trend.width}
      onOpen=${() => {
        opened.current = group.id;
      }}
    />
  `;
  return html`
    <div class="view errors" ref=${box}>
      <header class="view-head">
        <h1>Errors</h1>
        <p class="total" role="status">
          ${data ? `${plural(data.total, 'group')}, ${plural(data.failures, 'failure')}${throughWords(data, service)}` : ''}
        </p>
        <${Clear} view="errors" filters=${query} />
      </header>
      <${Filters} query=${query} />
      ${
        error?.status > 0 &&
        html`
          <${Note} title="That did not work" kind="error"><p>${error.message}</p><//>
        `
      }
      ${
        data && (data.left_out > 0 || data.forgotten > 0) &&
        html`
          <p class="error-limits quiet">
            ${data.left_out > 0 && `${plural(data.left_out, 'more group')} left out here: search for less. `}
            ${data.forgotten > 0 && `${plural(data.forgotten, 'older failure')} not looked at: there are too many.`}
          </p>
        `
      }
      ${
        data && sorted.length === 0
          ? html`
              <${Nothing} searched=${Object.keys(query).length > 0} through=${data.through} />
            `
          : html`
              <${VirtualList}
                className=${`error-list ${data ? '' : 'waiting'}`}
                items=${sorted}
                rowHeight=${height}
                row=${row}
                active=${active}
                top=${place?.top}
                onHold=${hold}
                label="Errors"
                head=${
                  wide &&
                  html`
                    <${Head} />
                  `
                }
              />
            `
      }
    </div>
  `;
}

function Filters({ query }) {
  const set = changes => replace(link(['errors'], { ...query, ...changes }));
  const { data } = useResource(address('services'), 3000);
  const names = (data?.services ?? []).map(each => each.name);
  return html`
    <form class="filters" role="search" aria-label="Search errors" onSubmit=${event => event.preventDefault()}>
      <${Text}
        label="Text in kinds, messages, files and endpoints"
        placeholder="Kind, message or file"
        search=${true}
        value=${query.q ?? ''}
        onChange=${q => set({ q })}
      />
      <${Select}
        label="Service"
        value=${query.service ?? ''}
        options=${[['', 'All services'], ...names.map(name => [name, name])]}
        onChange=${service => set({ service, endpoint: '' })}
      />
      ${
        query.endpoint &&
        html`
          <button
            type="button"
            class="toggle on"
            onClick=${() => set({ endpoint: '' })}
            aria-label=${`Remove the endpoint ${query.endpoint}`}
          >
            <span class="chosen-endpoint">${query.endpoint}</span>
            <${Icon} name="close" size=${12} />
          </button>
        `
      }
      <${TimeWindow} query=${query} onChange=${set} />
      <${Select} label="Order" value=${query.sort ?? ''} options=${ORDERS} onChange=${sort => set({ sort })} />
    </form>
  `;
}

// what only came through counts where it began: for one service these are elsewhere
const throughWords = ({ through }, service) =>
  service && through > 0 ? `; ${count(through)} more came through from services that it calls` : '';

function Nothing({ searched, through }) {
  return searched
    ? html`
        <${Note} title="No error matches">
          <p>
            Search for less, or <a href="#/errors">show all errors</a>.
          </p>
          ${
            through > 0 &&
            html`
              <p>${plural(through, 'failure')} came through from services that were called, and count there.</p>
            `
          }
        <//>
      `
    : html`
        <${Note} title="Nothing has failed">
          <p>Spans that fail appear here by themselves, each exception once for each place.</p>
        <//>
      `;
}
