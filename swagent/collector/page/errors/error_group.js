// One group of errors: when it happened, its stack, and the newest failures.
import { html, useRef } from '../frame/view.js';
import { Icon } from '../parts/icons.js';
import { ago, clock, count, duration, moment, plural } from '../parts/format.js';
import { Loaded, Service } from '../parts/parts.js';
import { go, link } from '../frame/route.js';
import { useKeys } from '../frame/keys.js';
import { useRowKeys } from '../frame/row_keys.js';
import { useWindowed } from '../frame/windowed.js';
import { Stack } from '../parts/stack.js';
import { Bars } from '../parts/trend.js';
import { timeOf } from '../parts/time_window.js';
import { placeOf, termOf, titleOf } from './error_texts.js';

export function ErrorGroup({ id, query }) {
  const box = useRef(null);
  const { service, endpoint } = query;
  const resource = useWindowed(`errors/${encodeURIComponent(id)}`, { service, endpoint }, timeOf(query), 2000);
  const toList = () => go(link(['errors'], query));
  useKeys({ Escape: toList });
  useRowKeys(box, link(['errors', id], query), resource.data !== null);
  return html`
    <div class="view error-group">
      <div class="scroll" ref=${box}>
        <${Loaded}
          resource=${resource}
          way=${html`
            <p><button type="button" class="toggle" onClick=${toList}>Back to the errors</button></p>
          `}
        >
          ${group => html`
            <${Content} group=${group} query=${query} onBack=${toList} />
          `}
        <//>
      </div>
    </div>
  `;
}

function Content({ group, query, onBack }) {
  const shown = group.count > 0;
  const most = Math.max(0, ...group.trend);
  const until = group.from + group.trend.length * group.width;
  return html`
    <header class="trace-top">
      <button type="button" class="plain" onClick=${onBack} aria-label="Back to the errors (Esc)" title="Back (Esc)">
        <${Icon} name="back" />
      </button>
      <div class="trace-title">
        <h1 dir="auto" title=${group.kind}>${titleOf(group)}</h1>
        ${
          group.message &&
          html`
            <p class="error-said" dir="auto">${group.message}</p>
          `
        }
        <p class="facts">
          <code title=${group.file}>${placeOf(group)}</code>
          ${
            group.kind !== titleOf(group) &&
            group.kind &&
            html`
              <code>${group.kind}</code>
            `
          }
        </p>
      </div>
    </header>
    <dl class="numbers">
      <div>
        <dt>Failures</dt>
        <dd>${count(group.count)}</dd>
      </div>
      <div>
        <dt>First seen</dt>
        <dd title=${moment(group.first)}>${shown ? ago(group.first) : '–'}</dd>
      </div>
      <div>
        <dt>Last seen</dt>
        <dd title=${moment(group.last)}>${shown ? ago(group.last) : '–'}</dd>
      </div>
    </dl>
    ${
      shown &&
      html`
        <figure class="error-trend">
          <${Bars}
            className="alarming"
            values=${group.trend}
            label=${`Failures over time: ${count(most)} in ${duration(group.width)} at most`}
          />
          <figcaption>
            <time>${moment(group.from, false)}</time>
            <span>at most ${count(most)} in ${duration(group.width)}</span>
            <time>${clock(until, false)}</time>
          </figcaption>
        </figure>
      `
    }
    ${
      group.stack &&
      html`
        <section class="error-stack" aria-label="Stack of the newest failure">
          <h2 class="error-section">Stack</h2>
          <${Stack} text=${group.stack} kind=${group.kind} message=${group.message} />
        </section>
      `
    }
    <${Examples} group=${group} />
    <${Places} group=${group} query=${query} />
  `;
}

function Places({ group, query }) {
  const time = timeOf(query);
  return html`
    <h2 class="error-section">Endpoints</h2>
    <ul class="error-places">
      ${group.endpoints.map(
        each => html`
          <li>
            <${Service} name=${each.service} />
            <a href=${link(['traces'], { service: each.service, endpoint: each.name, errors: 1, ...time })}>
              ${each.name || '(unnamed)'}
            </a>
            <span class="number quiet">${plural(each.count, 'failure')}</span>
          </li>
        `,
      )}
    </ul>
    ${
      group.kind &&
      html`
        <p class="links"><a href=${link(['traces'], { q: termOf(group.kind), ...time })}>All traces with ${titleOf(group)}</a></p>
      `
    }
  `;
}

function Examples({ group }) {
  return html`
    <h2 class="error-section">Newest failures</h2>
    <table class="table examples">
      <thead>
        <tr>
          <th scope="col">Span</th>
          <th scope="col" class="number">Service</th>
          <th scope="col" class="number">Duration</th>
          <th scope="col" class="number">Logs</th>
          <th scope="col" class="last">Time</th>
        </tr>
      </thead>
      <tbody>
        ${group.examples.map(
          each => html`
            <tr key=${`${each.trace_id} ${each.span}`} data-row=${`${each.trace_id} ${each.span}`}>
              <th scope="row">
                <a data-main href=${link(['traces', each.trace_id], { span: each.span })}>${each.operation || '(unnamed)'}</a>
                ${
                  each.message &&
                  html`
                    <span class="example-message" dir="auto">${each.message.split('\n')[0]}</span>
                  `
                }
              </th>
              <td class="number" data-label=""><${Service} name=${each.service} quiet=${true} /></td>
              <td class="number" data-label="took">${duration(each.duration)}</td>
              <td class="number" data-label="logs">
                ${
                  each.logs > 0
                    ? html`
                        <a href=${link(['traces', each.trace_id], { span: each.span, tab: 'logs' })}>${plural(each.logs, 'line')}</a>
                      `
                    : html`
                        <span class="none">–</span>
                      `
                }
              </td>
              <td class="last"><time title=${moment(each.time)}>${ago(each.time)}</time></td>
            </tr>
          `,
        )}
      </tbody>
    </table>
  `;
}
