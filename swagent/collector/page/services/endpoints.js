// The endpoints of one service, and where else to look at it.
import { html } from '../frame/view.js';
import { plural } from '../parts/format.js';
import { Loaded } from '../parts/parts.js';
import { ProfileButton } from '../profiles/profile_button.js';
import { link } from '../frame/route.js';
import { RowMenu } from './row_menu.js';
import { ordering, useSteadyOrder } from '../frame/steady.js';
import { useWindowed } from '../frame/windowed.js';
import { CALL_COLUMNS, CALL_ORDERS, CallCells } from './call_cells.js';
import { SortedHead } from './sorted_head.js';
import { timeOf } from '../parts/time_window.js';

const COLUMNS = [['name', 'Endpoint'], ...CALL_COLUMNS];

export function Endpoints({ service, query, order }) {
  const time = timeOf(query);
  const resource = useWindowed(`services/${encodeURIComponent(service)}/endpoints`, {}, time, 2000);
  return html`
    <p class="links">
      <a href=${link(['traces'], { service, ...time })}>Traces</a>
      <a href=${link(['traces'], { service, errors: 1, ...time })}>Failed traces</a>
      <a href=${link(['errors'], { service, ...time })}>Errors</a>
      <a href=${link(['logs'], { service })}>Logs</a>
      <a href=${link(['meters'], { service })}>Meters</a>
      <a href=${link(['runtime'], { service })}>Runtime</a>
    </p>
    <${Loaded} resource=${resource}>
      ${data => html`
        <${Table} service=${service} data=${data} query=${query} order=${order} />
      `}
    <//>
  `;
}

// sorted by the column that the services are sorted by; by calls where that is the name
function Table({ service, data, query, order: outer }) {
  const text = (query.q ?? '').toLowerCase();
  const matching = data.endpoints.filter(each => each.name.toLowerCase().includes(text));
  const found = matching.length > 0 ? matching : data.endpoints;
  const order = query.sort && CALL_ORDERS[outer.column] ? outer : ordering(CALL_ORDERS, 'calls', 'calls');
  const { sorted, hold } = useSteadyOrder(found, { id: each => each.name, ...order });
  const time = timeOf(query);
  const to = changes => link(['services', service], { ...query, ...changes });
  return html`
    <table class="table inner" onPointerMove=${hold}>
      <${SortedHead} columns=${COLUMNS} order=${order} to=${to} />
      <tbody>
        ${sorted.map(
          each => html`
            <tr key=${each.name} data-row=${`${service} ${each.name}`}>
              <th scope="row">
                <a data-main href=${link(['traces'], { service, endpoint: each.name, ...time })}>
                  ${each.name || '(unnamed)'}
                </a>
                <${RowMenu} name=${each.name || 'unnamed'}>
                  <${ProfileButton} service=${service} endpoint=${each.name} text="Profile" />
                  <a href=${link(['traces'], { service, endpoint: each.name, sort: 'slowest', ...time })}>Slowest traces</a>
                  <a href=${link(['traces'], { service, endpoint: each.name, errors: 1, ...time })}>Failed traces</a>
                  <a href=${link(['errors'], { service, endpoint: each.name, ...time })}>Errors</a>
                <//>
              </th>
              <${CallCells}
                sums=${each}
                width=${data.trend?.width ?? 0}
                errors=${link(['errors'], { service, endpoint: each.name, ...time })}
              />
            </tr>
          `,
        )}
      </tbody>
    </table>
    ${
      data.left_out > 0 &&
      html`
        <p class="quiet">${plural(data.left_out, 'more endpoint')} with fewer calls left out here</p>
      `
    }
  `;
}
