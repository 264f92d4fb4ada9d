// The numbers of calls, as cells of a row: of a service or of an endpoint.
import { html } from '../frame/view.js';
import { count, duration, percent, plural, short } from '../parts/format.js';
import { Bars, Line } from '../parts/trend.js';

const SILENT_MS = 60_000;

export const CALL_COLUMNS = [
  ['calls', 'Calls'],
  ['rate', 'per min', 'Calls a minute over the last five minutes'],
  ['errors', 'Errors'],
  ['total', 'Total', 'The time of all calls together'],
  ['p50', 'p50', 'Half of the calls took no longer'],
  ['p95', 'p95', '95 of 100 calls took no longer'],
  ['p99', 'p99', '99 of 100 calls took no longer'],
];

const isSilent = ({ last_call: last }) => last === null || Date.now() - last > SILENT_MS;

export const CALL_ORDERS = {
  name: { of: each => each.name, text: true },
  calls: { of: each => each.calls },
  rate: { of: each => (isSilent(each) ? 0 : each.calls_per_minute) },
  errors: { of: each => each.error_rate },
  total: { of: each => each.total },
  p50: { of: each => each.p50 },
  p95: { of: each => each.p95 },
  p99: { of: each => each.p99 },
};

/* sums: as the API has them; width: milliseconds of a point of the trend; errors: whether they are shown */
export function CallCells({ sums, width, errors }) {
  const { trend } = sums;
  const part = duration(width);
  return html`
    <td class="number with-trend" data-label="Calls">
      ${
        trend &&
        html`
          <${Bars}
            values=${trend.calls}
            label=${`Calls over time: ${plural(Math.max(...trend.calls), 'call')} in ${part} at most`}
          />
        `
      }
      <span>${count(sums.calls)}</span>
    </td>
    <td class="number" data-label="per min"><${Rate} sums=${sums} /></td>
    <td class="number" data-label="Errors">
      <${Errors} errors=${sums.errors} through=${sums.through} calls=${sums.calls} href=${errors} />
    </td>
    <td class="number" data-label="Total">${duration(sums.total)}</td>
    <td class="number" data-label="p50">${duration(sums.p50)}</td>
    <td class="number with-trend" data-label="p95">
      ${
        trend &&
        html`
          <${Line}
            values=${trend.p95}
            label=${`p95 over time: ${duration(Math.max(0, ...trend.p95.map(each => each ?? 0)))} at most`}
          />
        `
      }
      <span>${duration(sums.p95)}</span>
    </td>
    <td class="number" data-label="p99">${duration(sums.p99)}</td>
  `;
}

// a rate is about now: who has not been called for a minute has none
function Rate({ sums }) {
  if (sums.calls === 0 || sums.last_call === undefined) return short(sums.calls_per_minute ?? 0);
  return isSilent(sums)
    ? html`
        <span class="none" title=${`The last call began ${duration(Date.now() - sums.last_call)} ago`}>silent</span>
      `
    : short(sums.calls_per_minute);
}

/* errors: that began here; through: that came through from services that were called */
export function Errors({ errors, through = 0, calls, href }) {
  return html`
    ${errors > 0 ? html`<${Own} ...${{ errors, calls, href }} />` : html`<span class="none">0</span>`}
    ${
      through > 0 &&
      html`
        <span class="through" title="Calls that failed because a service that was called failed: they count there">
          ${short(through)} through
        </span>
      `
    }
  `;
}

function Own({ errors, calls, href }) {
  const text = html`
    ${percent(errors / Math.max(1, calls))}${' '}
    <span class="of">(${short(errors)}<span class="out-of-sight">${errors === 1 ? ' error' : ' errors'}</span>)</span>
  `;
  return href
    ? html`
        <a class="bad" href=${href}>${text}</a>
      `
    : html`
        <span class="bad">${text}</span>
      `;
}
