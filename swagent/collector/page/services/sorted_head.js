// The head of a table whose order is in the address.
import { html } from '../frame/view.js';
import { Icon } from '../parts/icons.js';

/* columns: [[name, text, title]]; order: what `ordering` made; to(changes): the address with another order */
export function SortedHead({ columns, order, to, last = [] }) {
  return html`
    <thead>
      <tr>
        ${columns.map(
          ([name, text, title], index) => html`
            <th
              scope="col"
              class=${index > 0 ? 'number' : ''}
              aria-sort=${order.column === name ? (order.up ? 'ascending' : 'descending') : undefined}
            >
              <a
                class="sorter"
                href=${to({ sort: order.column === name && !order.back ? `-${name}` : name })}
                title=${title}
              >
                ${text}
                <i aria-hidden="true">${order.column === name ? (order.up ? '↑' : '↓') : ''}</i>
              </a>
            </th>
          `,
        )}
        ${last}
      </tr>
    </thead>
  `;
}

// the same where the table is a list: narrow pages show no head
export function SortedBy({ columns, order, onChange }) {
  return html`
    <label class="field select sorted-by">
      <span class="out-of-sight">Order</span>
      <select aria-label="Order" value=${order.column} onChange=${event => onChange({ sort: event.target.value })}>
        ${columns.map(
          ([name, text]) => html`
            <option value=${name} selected=${order.column === name}>Sort by ${text[0].toLowerCase()}${text.slice(1)}</option>
          `,
        )}
      </select>
      <${Icon} name="down" size=${12} />
    </label>
  `;
}
