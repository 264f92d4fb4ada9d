// The numbers of each service and of its endpoints; before and after a moment where one is chosen.
import { html, useRef } from '../frame/view.js';
import { ago } from '../parts/format.js';
import { Text } from '../parts/fields.js';
import { Clear, Loaded, Note, Service } from '../parts/parts.js';
import { go, link, replace } from '../frame/route.js';
import { useKeys } from '../frame/keys.js';
import { useRowKeys } from '../frame/row_keys.js';
import { ordering, useSteadyOrder } from '../frame/steady.js';
import { useWindowed } from '../frame/windowed.js';
import { Icon } from '../parts/icons.js';
import { BeforeAfter } from './before_after.js';
import { CALL_COLUMNS, CALL_ORDERS, CallCells } from './call_cells.js';
import { Endpoints } from './endpoints.js';
import { Moments } from './moments.js';
import { SortedBy, SortedHead } from './sorted_head.js';
import { TimeWindow, timeOf } from '../parts/time_window.js';

const COLUMNS = [['name', 'Service'], ...CALL_COLUMNS];
const ORDERS = { ...CALL_ORDERS, seen: { of: each => each.last_seen } };

export function Services({ selected, query }) {
  const to = changes => link(selected ? ['services', selected] : ['services'], { ...query, ...changes });
  useKeys({
    Escape: () => {
      if (selected) go(link(['services'], query));
      else if (query.at) go(link(['services'], { ...query, at: '', sort: '' }));
      else return false;
      return true;
    },
  });
  return html`
    <div class="view services">
      <header class="view-head">
        <h1>${query.at ? 'Before and after' : 'Services'}</h1>
        <${Clear} view="services" filters=${query} />
      </header>
      <form class="filters" role="search" aria-label="Search services" onSubmit=${event => event.preventDefault()}>
        <${Text}
          label=${query.at ? 'Text in services and endpoints' : 'Text in names of services'}
          placeholder=${query.at ? 'Service or endpoint' : 'Service'}
          search=${true}
          value=${query.q ?? ''}
          onChange=${q => replace(to({ q }))}
        />
        <${TimeWindow} query=${query} onChange=${changes => replace(to(changes))} />
        <${Moments} query=${query} />
      </form>
      ${
        query.at
          ? html`
              <${BeforeAfter} query=${query} />
            `
          : html`
              <${All} selected=${selected} query=${query} to=${to} />
            `
      }
    </div>
  `;
}

function All({ selected, query, to }) {
  const box = useRef(null);
  const resource = useWindowed('services', {}, timeOf(query), 2000);
  useRowKeys(box, `services ${link([], { ...query, selected })}`, resource.data !== null);
  return html`
    <div class="scroll" ref=${box}>
      <${Loaded} resource=${resource}>
        ${data =>
          data.services.length === 0
            ? html`
                <${Note} title="No service has reported a call yet" />
              `
            : html`
                ${
                  selected &&
                  !data.services.some(each => each.name === selected) &&
                  html`
                    <${Note} title="No such service">
                      <p>None called “${selected}” has reported. These have:</p>
                    <//>
                  `
                }
                <${Table} data=${data} selected=${selected} query=${query} to=${to} />
              `}
      <//>
    </div>
  `;
}

function Table({ data, selected, query, to }) {
  const order = ordering(ORDERS, query.sort, 'name');
  const text = (query.q ?? '').toLowerCase();
  const found = data.services.filter(each => each.name === selected || each.name.toLowerCase().includes(text));
  const { sorted, hold } = useSteadyOrder(found, { id: each => each.name, ...order });
  if (sorted.length === 0)
    return html`
      <${Note} title="No service of that name" />
    `;
  const seen = html`
    <th scope="col" class="last" aria-sort=${order.column === 'seen' ? (order.up ? 'ascending' : 'descending') : undefined}>
      <a class="sorter" href=${to({ sort: order.column === 'seen' && !order.back ? '-seen' : 'seen' })}>
        Seen
        <i aria-hidden="true">${order.column === 'seen' ? (order.up ? '↑' : '↓') : ''}</i>
      </a>
    </th>
  `;
  return html`
    <${SortedBy} columns=${[...COLUMNS, ['seen', 'Seen']]} order=${order} onChange=${changes => replace(to(changes))} />
    <table class="table calls" onPointerMove=${hold}>
      <${SortedHead} columns=${COLUMNS} order=${order} to=${to} last=${seen} />
      <tbody>
        ${sorted.map(
          each => html`
            <${Rows}
              key=${each.name}
              service=${each}
              open=${each.name === selected}
              width=${data.trend?.width ?? 0}
              query=${query}
              order=${order}
            />
          `,
        )}
      </tbody>
    </table>
  `;
}

function Rows({ service, open, width, query, order }) {
  const { name } = service;
  return html`
    <tr class=${open ? 'open' : ''} data-row=${name}>
      <th scope="row">
        <a
          class="opener"
          data-main
          href=${link(open ? ['services'] : ['services', name], query)}
          aria-expanded=${open ? 'true' : 'false'}
        >
          <${Icon} name=${open ? 'down' : 'open'} size=${11} />
          <${Service} name=${name} />
        </a>
      </th>
      <${CallCells} sums=${service} width=${width} errors=${link(['errors'], { service: name, ...timeOf(query) })} />
      <td class="last" data-label="Seen">${ago(service.last_seen)}</td>
    </tr>
    ${
      open &&
      html`
        <tr class="inside">
          <td colspan="9"><${Endpoints} service=${name} query=${query} order=${order} /></td>
        </tr>
      `
    }
  `;
}
