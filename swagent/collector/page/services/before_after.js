// Every endpoint before and after a moment: what got worse comes first. What may be chance is no difference.
import { html, useMemo, useRef } from '../frame/view.js';
import { ago, count, duration, percent, plural } from '../parts/format.js';
import { Loaded, Note, Service } from '../parts/parts.js';
import { link, replace } from '../frame/route.js';
import { useRowKeys } from '../frame/row_keys.js';
import { ordering, useSteadyOrder } from '../frame/steady.js';
import { useWindowed } from '../frame/windowed.js';
import { momentText, useStarts } from './moments.js';
import { SortedBy, SortedHead } from './sorted_head.js';
import { timeOf } from '../parts/time_window.js';

const COLUMNS = [
  ['name', 'Endpoint'],
  ['calls', 'Calls'],
  ['p50', 'p50'],
  ['p95', 'p95'],
  ['errors', 'Errors'],
  ['queries', 'Queries a request', 'Calls of a database while a request is answered'],
  ['worse', 'Worse', 'How much worse the worst of these numbers got, as far as that is sure'],
];

// the sure differences come first, in either direction; then by how much
const change = name => each => {
  const by = (each.after[name] ?? 0) - (each.before[name] ?? 0);
  return each.differs[name] === 0 ? Math.atan(by) * 1e-9 : by;
};
const ORDERS = {
  name: { of: each => `${each.service} ${each.endpoint}`, text: true },
  calls: { of: each => each.after.calls },
  p50: { of: change('p50') },
  p95: { of: change('p95') },
  errors: { of: change('error_rate') },
  queries: { of: change('queries') },
  worse: { of: each => each.worse },
};
const id = each => `${each.service} ${each.endpoint}`;

export function BeforeAfter({ query }) {
  const box = useRef(null);
  const at = Number(query.at);
  const starts = useStarts();
  const resource = useWindowed('compare', { at: query.at, service: query.service }, timeOf(query), 2000);
  useRowKeys(box, link(['services'], query), resource.data !== null);
  return html`
    <div class="scroll" ref=${box}>
      <p class="compare-lead">
        <b>${momentText(at, starts)}</b>${' '}
        <span class="quiet">(${ago(at)})</span>
      </p>
      <${Loaded} resource=${resource}>
        ${data => html`
          <${Content} data=${data} query=${query} at=${at} />
        `}
      <//>
    </div>
  `;
}

function Content({ data, query, at }) {
  const order = ordering(ORDERS, query.sort, 'worse');
  const text = (query.q ?? '').toLowerCase();
  const found = useMemo(
    () => data.endpoints.filter(each => id(each).toLowerCase().includes(text)),
    [data, text],
  );
  const { sorted, hold } = useSteadyOrder(found, { id, ...order });
  const to = changes => link(['services'], { ...query, ...changes });
  const after = data.endpoints.some(each => each.after.calls > 0);
  const worse = data.endpoints.filter(each => each.worse > 0).length;
  if (data.endpoints.length === 0)
    return html`
      <${Note} title="No call is kept of that time" />
    `;
  return html`
    <p class="compare-lead" role="status">
      ${
        !after
          ? `No call has come since. It fills as they come.`
          : worse > 0
            ? `${plural(worse, 'endpoint')} got worse.`
            : 'No endpoint got worse, as far as the numbers show.'
      }${' '}
      <span class="quiet">
        An arrow means that it is hardly chance. With fewer than ${data.least} calls on a side nothing is said.
      </span>
    </p>
    <${SortedBy} columns=${COLUMNS} order=${order} onChange=${changes => replace(to(changes))} />
    <table class="table compared" onPointerMove=${hold}>
      <${SortedHead} columns=${COLUMNS.slice(0, -1)} order=${order} to=${to} />
      <tbody>
        ${sorted.map(
          each => html`
            <${Row} key=${id(each)} row=${each} at=${at} least=${data.least} />
          `,
        )}
      </tbody>
    </table>
    ${
      data.left_out > 0 &&
      html`
        <p class="quiet">${plural(data.left_out, 'more endpoint')} left out here</p>
      `
    }
  `;
}

function Row({ row, at, least }) {
  const { service, endpoint, before, after, differs } = row;
  const few = Math.min(before.calls, after.calls) < least;
  const to = time => link(['traces'], { service, endpoint, ...time });
  return html`
    <tr class=${few ? 'few' : ''} data-row=${id(row)}>
      <th scope="row">
        <a data-main href=${to({ from: at })}>${endpoint || '(unnamed)'}</a>
        <span class="compared-service"><${Service} name=${service} quiet=${true} /></span>
      </th>
      <td class="number" data-label="Calls">
        <a href=${to({ to: at })} aria-label=${`${plural(before.calls, 'call')} before`}>${count(before.calls)}</a>
        <i class="arrow-to" aria-hidden="true">→</i>
        <a href=${to({ from: at })} aria-label=${`${plural(after.calls, 'call')} after`}>${count(after.calls)}</a>
        ${
          few &&
          html`
            <small>too few to tell</small>
          `
        }
      </td>
      <${Change} label="p50" before=${before.p50} after=${after.p50} differs=${differs.p50} format=${duration} />
      <${Change} label="p95" before=${before.p95} after=${after.p95} differs=${differs.p95} format=${duration} />
      <${Change}
        label="Errors"
        before=${before.error_rate}
        after=${after.error_rate}
        differs=${differs.error_rate}
        format=${percent}
        by=${points}
      />
      <${Change} label="Queries" before=${before.queries} after=${after.queries} differs=${differs.queries} format=${mean} />
    </tr>
  `;
}

const mean = number => (Number.isInteger(number) ? String(number) : number.toFixed(number < 10 ? 2 : 1));

const points = ratio => `${(ratio * 100).toFixed(1)} points`;

function Change({ label, before, after, differs, format, by: formatBy = format }) {
  if (before === null || after === null)
    return html`
      <td class="number" data-label=${label}>${read(before, format)} <i class="arrow-to" aria-hidden="true">→</i> ${read(after, format)}</td>
    `;
  const by = after - before;
  const text = formatBy(Math.abs(by));
  const same = text === formatBy(0);
  return html`
    <td class="number" data-label=${label}>
      ${read(before, format)} <i class="arrow-to" aria-hidden="true">→</i> ${read(after, format)}
      <small class=${differs > 0 ? 'bad' : differs < 0 ? 'better' : ''}>
        ${
          differs !== 0 &&
          html`
            <span role="img" aria-label=${differs > 0 ? 'worse' : 'better'}>${differs > 0 ? '▲' : '▼'}</span>
          `
        }
        ${' '}${same ? 'same' : `${by > 0 ? '+' : '−'}${text}`}
      </small>
    </td>
  `;
}

const read = (value, format) => (value === null ? '–' : format(value));
