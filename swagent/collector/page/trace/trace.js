// One trace: its waterfall across services, and the details of a span.
import { html, useMemo } from '../frame/view.js';
import { address, useResource } from '../frame/api.js';
import { count, duration, moment, plural } from '../parts/format.js';
import { CopyTest } from './copy_test.js';
import { ExportTrace } from '../exchange/export_link.js';
import { SavePage } from '../exchange/save_page.js';
import { Icon } from '../parts/icons.js';
import { LogRows } from '../logs/log_rows.js';
import { headOf } from './critical_path.js';
import { failuresOf } from './failed_spans.js';
import { errorsDeepestFirst } from './finding.js';
import { useNeighbours } from './loop_neighbours.js';
import { waitsIn } from './loop_waits.js';
import { LossBadge } from '../runtime/loss_badge.js';
import { ownTimes } from './own_time.js';
import { CompareLinks } from '../compare/compare_links.js';
import { Copy, Loaded, Panel, Service } from '../parts/parts.js';
import { link, replace, toList } from '../frame/route.js';
import { useKeys } from '../frame/keys.js';
import { SpanDetails } from './span_details.js';
import { Findings, useFindings } from './findings.js';
import { Waterfall } from './waterfall.js';
import { Why } from './why.js';

export function Trace({ id, query }) {
  const resource = useResource(address(`traces/${encodeURIComponent(id)}`), 2000);
  useKeys({ Escape: toList }); // also from one that is not there
  return html`
    <div class="view trace">
      <${Loaded}
        resource=${resource}
        way=${html`
          <p><button type="button" class="toggle" onClick=${toList}>Back to the traces</button></p>
        `}
      >
        ${trace => html`
          <${Content} trace=${trace} query=${query} />
        `}
      <//>
    </div>
  `;
}

function Content({ trace, query }) {
  const { spans, logs } = trace;
  const root = spans[0];
  const head = useMemo(() => headOf(trace), [trace]);
  const errors = useMemo(() => errorsDeepestFirst(spans), [spans]);
  const failed = useMemo(() => failuresOf(spans), [spans]);
  const neighbours = useNeighbours(trace);
  const waits = useMemo(() => waitsIn(spans, neighbours), [spans, neighbours]);
  const found = useFindings(trace.trace_id);
  const tab = query.tab === 'logs' ? 'logs' : 'spans';
  const chosen = useMemo(() => spans.find(each => each.id === query.span), [spans, query.span]);
  const to = changes => link(['traces', trace.trace_id], { ...query, ...changes });
  const change = changes => replace(to(changes));
  const select = span => change({ span: span?.id ?? '' });
  useKeys({
    Escape: () => {
      if (chosen) select(null);
      else if (query.zoom && query.zoom !== 'all') change({ zoom: '' });
      else toList();
    },
  });
  return html`
    <header class="trace-top">
      <button
        type="button"
        class="plain"
        onClick=${toList}
        aria-label="Back to the traces (Esc)"
        title="Back (Esc)"
      >
        <${Icon} name="back" />
      </button>
      <div class="trace-title">
        <h1 dir="auto" title=${root?.operation}>${root?.operation || '(unnamed)'}</h1>
        <p class="facts">
          <span>
            <b class="number" title="The time of the root span">${duration(trace.duration)}</b>${' '}
            ${
              trace.after > 0 &&
              html`
                <span class="after">
                  and ${duration(trace.after)} ${trace.is_messaging ? 'of messaging' : 'afterwards'}
                </span>
              `
            }
          </span>
          <time>${moment(trace.start)}</time>
          <span>${plural(spans.length, 'span')}</span>
          ${
            trace.left_out > 0 &&
            html`
              <span class="badge">${plural(trace.left_out, 'more span')} left out here</span>
            `
          }
          ${
            errors.length > 0 &&
            html`
              <button
                type="button"
                class=${`badge ${failed.own.length > 0 ? 'error' : ''}`}
                title=${`To where it began: the deepest error (e goes to the next). ${plural(errors.length, 'span')} failed.`}
                onClick=${() => change({ span: errors[0].id, tab: '' })}
              >
                ${errorWords(failed)}
              </button>
            `
          }
          <${CompareLinks} id=${trace.trace_id} />
          <span class="id">
            <code title=${trace.trace_id}>${trace.trace_id}</code>
            <${Copy} text=${trace.trace_id} label="the trace id" />
          </span>
          <${CopyTest} trace=${trace} />
          <${ExportTrace} id=${trace.trace_id} />
          <${SavePage} trace=${trace} findings=${found} />
        </p>
        <${Shares} trace=${trace} />
        <${Findings} found=${found} trace=${trace} onChoose=${select} />
        ${
          head?.kind === 'entry' &&
          html`
            <${Why}
              span=${head}
              spans=${spans}
              waits=${waits.get(head.id)}
              isNamed=${Boolean(found?.culprit)}
              onMore=${() => select(head)}
            />
          `
        }
      </div>
    </header>
    <div class="tabs-row">
      <div class="tabs" role="tablist" aria-label="Of this trace">
        <a
          role="tab"
          id="tab-spans"
          aria-controls="of-trace"
          aria-selected=${tab === 'spans' ? 'true' : 'false'}
          href=${to({ tab: '' })}
        >
          Spans <b>${count(spans.length)}</b>
        </a>
        <a
          role="tab"
          id="tab-logs"
          aria-controls="of-trace"
          aria-selected=${tab === 'logs' ? 'true' : 'false'}
          href=${to({ tab: 'logs' })}
        >
          Logs <b>${count(logs.length)}</b>
        </a>
      </div>
      <${LossBadge} trace=${trace} />
    </div>
    <div class="split" role="tabpanel" id="of-trace" aria-labelledby=${`tab-${tab}`}>
      ${
        tab === 'spans'
          ? html`
              <${Waterfall} onChoose=${select} ...${{ trace, chosen, query, change, neighbours, waits }} />
            `
          : html`
              <${LogRows} logs=${logs} inTrace=${true} />
            `
      }
      ${
        chosen &&
        html`
          <${Panel} title="Span" onClose=${() => select(null)}>
            <${SpanDetails} span=${chosen} trace=${trace} neighbours=${neighbours} waits=${waits.get(chosen.id)} />
          <//>
        `
      }
    </div>
  `;
}

// each failure once, where it began
const errorWords = ({ own, handled }) =>
  [
    own.length > 0 && plural(own.length, 'error'),
    handled.length > 0 && (own.length > 0 ? `${count(handled.length)} handled` : `${plural(handled.length, 'error')}, handled`),
  ]
    .filter(Boolean)
    .join(', ');

// how much of the whole each service's own spans cover: where to look first
function Shares({ trace }) {
  const shares = useMemo(() => ownTimes(trace.spans), [trace]);
  return html`
    <ul class="shares" aria-label="Services, with their own time">
      ${shares.map(
        ([name, own]) => html`
          <li>
            <${Service} name=${name} />
            <span class="number" title="Its own time: without what it waited for in others; what ran side by side counts once">
              ${duration(own)}
            </span>
          </li>
        `,
      )}
    </ul>
  `;
}
