// The choice of the trace to compare with: the usual one of its endpoint, or another one of these.
import { html, useEffect, useRef } from '../frame/view.js';
import { address, useResource } from '../frame/api.js';
import { Select, Toggle } from '../parts/fields.js';
import { Icon } from '../parts/icons.js';
import { ago, duration, moment, plural } from '../parts/format.js';
import { Loaded, Note } from '../parts/parts.js';
import { go, link, replace, toList } from '../frame/route.js';
import { useKeys } from '../frame/keys.js';
import { useRowKeys } from '../frame/row_keys.js';

const LIMIT = 50;
const ORDERS = [
  ['', 'Newest first'],
  ['slowest', 'Slowest first'],
];

export function Chooser({ id, query }) {
  const resource = useResource(address(`traces/${encodeURIComponent(id)}`), 5000);
  useKeys({ Escape: () => go(link(['traces', id])) });
  return html`
    <div class="view compare">
      <${Loaded}
        resource=${resource}
        way=${html`
          <p><button type="button" class="toggle" onClick=${toList}>Back to the traces</button></p>
        `}
      >
        ${trace => html`
          <${Others} trace=${trace} query=${query} />
        `}
      <//>
    </div>
  `;
}

function Others({ trace, query }) {
  const box = useRef(null);
  const root = trace.spans[0] ?? { service: '', operation: '' };
  const own = { service: root.service, endpoint: root.operation };
  const median = useResource(address('median', { ...own, trace: trace.trace_id }), 10_000);
  const list = useResource(
    address('traces', { ...own, sort: query.sort, errors: query.errors, limit: LIMIT }),
    5000,
  );
  const others = list.data?.traces.filter(each => each.trace_id !== trace.trace_id) ?? [];
  const to = other => link(['compare', other, trace.trace_id]);
  const set = changes => replace(link(['compare', trace.trace_id], { ...query, ...changes }));
  useRowKeys(box, link(['compare', trace.trace_id], query), list.data !== null);
  const usual = median.data?.trace_id;
  useEffect(() => {
    if (query.with === 'median' && usual) replace(to(usual));
  }, [query.with, usual]);
  return html`
    <header class="trace-top">
      <button
        type="button"
        class="plain"
        onClick=${() => go(link(['traces', trace.trace_id]))}
        aria-label="Back to the trace (Esc)"
        title="Back (Esc)"
      >
        <${Icon} name="back" />
      </button>
      <div class="trace-title">
        <h1 dir="auto">Compare ${root.operation || '(unnamed)'}</h1>
        <p class="facts">
          <span><b class="number">${duration(trace.duration)}</b></span>
          <time>${moment(trace.start)}</time>
          <span>with another trace of this endpoint</span>
        </p>
      </div>
    </header>
    <div class="scroll" ref=${box}>
      <${Usual} median=${median} to=${to} />
      <div class="chooser-tools">
        <${Select} label="Order" value=${query.sort ?? ''} options=${ORDERS} onChange=${sort => set({ sort })} />
        <${Toggle}
          label="Errors only"
          on=${query.errors === '1'}
          onChange=${on => set({ errors: on ? '1' : '' })}
        />
      </div>
      <${Loaded} resource=${list}>
        ${() =>
          others.length === 0
            ? html`
                <${Note} title="No other trace of this endpoint is kept" />
              `
            : html`
                <ul class="candidates" aria-label="Traces of this endpoint">
                  ${others.map(
                    each => html`
                      <li key=${each.trace_id} data-row=${each.trace_id}>
                        <a data-main href=${to(each.trace_id)}>
                          <b class="number">${duration(each.duration)}</b>
                          <time title=${moment(each.start)}>${ago(each.start)}</time>
                          <span class="number">${plural(each.spans, 'span')}</span>
                          ${
                            each.errors > 0 &&
                            html`
                              <span class=${`badge ${each.failed ? 'error' : ''}`}>${plural(each.errors, 'error')}</span>
                            `
                          }
                        </a>
                      </li>
                    `,
                  )}
                </ul>
              `}
      <//>
    </div>
  `;
}

function Usual({ median, to }) {
  const { data } = median;
  if (!data) return null;
  if (data.trace_id === null)
    return html`
      <p class="usual quiet">There is no other trace of this endpoint that did not fail.</p>
    `;
  return html`
    <p class="usual" data-row="usual">
      <a data-main href=${to(data.trace_id)}>
        Compare with the median: <b class="number">${duration(data.duration)}</b>
      </a>
      <span class="quiet">half of ${plural(data.calls, 'call')} that did not fail took no longer</span>
    </p>
  `;
}
