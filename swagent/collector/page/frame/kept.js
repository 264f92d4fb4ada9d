// The collector's store in numbers, beside the views.
import { html } from './view.js';
import { age, plural, short } from '../parts/format.js';

// the records in store, and those that have made room for newer ones
export function Kept({ status }) {
  if (!status)
    return html`
      <div class="kept"></div>
    `;
  const dropped = status.dropped_for_count + status.dropped_for_age;
  return html`
    <section class="kept" aria-label="What the collector keeps">
      <dl>
        <div>
          <dt>Segments</dt>
          <dd><${Level} value=${status.segments} limit=${status.limits.segments} /></dd>
        </div>
        <div>
          <dt>Logs</dt>
          <dd><${Level} value=${status.logs} limit=${status.limits.logs} /></dd>
        </div>
        <div>
          <dt title="values of meters">Meters</dt>
          <dd><${Level} value=${status.meters} limit=${status.limits.meters} /></dd>
        </div>
      </dl>
      ${
        dropped > 0 &&
        html`
          <p>${plural(dropped, 'old record')} made room for newer ones.</p>
        `
      }
      <p>
        Kept${' '}
        ${
          status.store === 'memory'
            ? 'in memory'
            : html`
                in <code title=${status.store}>${status.store.split('/').pop()}</code>
              `
        }${status.limits.max_age_s ? `, for at most ${age(status.limits.max_age_s)}` : ''}.
      </p>
    </section>
  `;
}

function Level({ value, limit }) {
  return html`
    ${short(value)} <span class="of">of ${short(limit)}</span>
  `;
}
