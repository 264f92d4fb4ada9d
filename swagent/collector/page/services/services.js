// What each service does, in numbers, and its endpoints.
import { html } from '../frame/view.js';
import { address, useResource } from '../frame/api.js';
import { ago, count, duration, percent, short } from '../parts/format.js';
import { Loaded, Note, Service } from '../parts/parts.js';
import { ProfileButton } from '../profiles/profile_button.js';
import { link } from '../frame/route.js';
import { useKeys } from '../frame/keys.js';
import { Icon } from '../parts/icons.js';

const COLUMNS = ['Calls', 'per min', 'Errors', 'p50', 'p95', 'p99'];

export function Services({ selected }) {
  const resource = useResource(address('services'), 2000);
  useKeys({
    Escape: () => {
      if (selected) location.hash = '#/services';
    },
  });
  return html`
    <div class="view services">
      <header class="view-head"><h1>Services</h1></header>
      <div class="scroll">
        <${Loaded} resource=${resource}>
          ${({ services }) =>
            services.length === 0
              ? html`
                  <${Note} title="No service has reported a call yet" />
                `
              : html`
                  ${
                    selected &&
                    !services.some(each => each.name === selected) &&
                    html`
                      <${Note} title="No such service">
                        <p>None called “${selected}” has reported. These have:</p>
                      <//>
                    `
                  }
                  <${Table} services=${services} selected=${selected} />
                `}
        <//>
      </div>
    </div>
  `;
}

function Table({ services, selected }) {
  return html`
    <table class="table">
      <thead>
        <tr>
          <th scope="col">Service</th>
          ${COLUMNS.map(
            name => html`
              <th scope="col" class="number">${name}</th>
            `,
          )}
          <th scope="col" class="last">Seen</th>
        </tr>
      </thead>
      <tbody>
        ${services.map(
          each => html`
            <${Rows} key=${each.name} service=${each} open=${each.name === selected} />
          `,
        )}
      </tbody>
    </table>
  `;
}

function Rows({ service, open }) {
  return html`
    <tr class=${open ? 'open' : ''}>
      <th scope="row">
        <a
          class="opener"
          href=${open ? '#/services' : link(['services', service.name])}
          aria-expanded=${open ? 'true' : 'false'}
        >
          <${Icon} name=${open ? 'down' : 'open'} size=${11} />
          <${Service} name=${service.name} />
        </a>
      </th>
      <td class="number" data-label="Calls">${count(service.calls)}</td>
      <td class="number" data-label="per min">${short(service.calls_per_minute)}</td>
      <td class="number" data-label="Errors"><${Errors} errors=${service.errors} rate=${service.error_rate} /></td>
      <td class="number" data-label="p50">${duration(service.p50)}</td>
      <td class="number" data-label="p95">${duration(service.p95)}</td>
      <td class="number" data-label="p99">${duration(service.p99)}</td>
      <td class="last" data-label="Seen">${ago(service.last_seen)}</td>
    </tr>
    ${
      open &&
      html`
        <tr class="inside">
          <td colspan="8"><${Endpoints} service=${service.name} /></td>
        </tr>
      `
    }
  `;
}

export function Errors({ errors, rate }) {
  return errors > 0
    ? html`
        <span class="bad">
          ${percent(rate)} <span class="of">(${short(errors)})</span>
        </span>
      `
    : html`
        <span class="none">0</span>
      `;
}

function Endpoints({ service }) {
  const resource = useResource(address(`services/${encodeURIComponent(service)}/endpoints`), 3000);
  return html`
    <p class="links">
      <a href=${link(['traces'], { service })}>Traces</a>
      <a href=${link(['traces'], { service, errors: 1 })}>Failed traces</a>
      <a href=${link(['logs'], { service })}>Logs</a>
      <a href=${link(['meters'], { service })}>Meters</a>
      <a href=${link(['instances'], { service })}>Instances</a>
    </p>
    <${Loaded} resource=${resource}>
      ${({ endpoints }) => html`
        <table class="table inner">
          <thead>
            <tr>
              <th scope="col">Endpoint</th>
              <th scope="col" class="number">Calls</th>
              <th scope="col" class="number">Errors</th>
              <th scope="col" class="number">p50</th>
              <th scope="col" class="number">p99</th>
            </tr>
          </thead>
          <tbody>
            ${endpoints.map(
              each => html`
                <tr key=${each.name}>
                  <th scope="row">
                    <a href=${link(['traces'], { service, endpoint: each.name })}>${each.name}</a>
                    <${ProfileButton} service=${service} endpoint=${each.name} text="Profile" />
                  </th>
                  <td class="number" data-label="Calls">${count(each.calls)}</td>
                  <td class="number" data-label="Errors">
                    <${Errors} errors=${each.errors} rate=${each.errors / Math.max(1, each.calls)} />
                  </td>
                  <td class="number" data-label="p50">${duration(each.p50)}</td>
                  <td class="number" data-label="p99">${duration(each.p99)}</td>
                </tr>
              `,
            )}
          </tbody>
        </table>
      `}
    <//>
  `;
}
