// The findings over all that is kept, those first that explain most: each row leads to its evidence.
import { html, useRef } from '../frame/view.js';
import { link, replace } from '../frame/route.js';
import { useRowKeys } from '../frame/row_keys.js';
import { useWindowed } from '../frame/windowed.js';
import { count, duration, percent, plural } from '../parts/format.js';
import { Clear, Loaded, Note, Service } from '../parts/parts.js';
import { TimeWindow, timeOf } from '../parts/time_window.js';

const SHOWN = 5;
const EVERY_MS = 5000;
const KINDS = {
  slow_dependency: 'Slow dependency',
  slow_way: 'Slow way',
  slow_own_code: 'Slow own code',
  time_without_span: 'Time without a span',
  slow_wait: 'Slow wait',
  pool: 'Pool',
  lock: 'Lock',
  blocked_loop: 'Blocked loop',
  busy_loop: 'Busy loop',
  n_plus_one: 'N+1',
  sequential_awaits: 'One after the other',
  cancelled: 'Cancelled',
  retry_storm: 'Retries',
  error_chain: 'Error chain',
  regression: 'Slower than before',
  hot_attribute: 'Goes with',
  queue_latency: 'Waits in a queue',
  loop_runs: 'A loop for each',
  losses: 'Lost records',
};
const SURE = { high: '', medium: 'probably', low: 'maybe' };

export function Findings({ query }) {
  const box = useRef(null);
  const resource = useWindowed('findings', {}, timeOf(query), EVERY_MS);
  const to = changes => link(['findings'], { ...query, ...changes });
  useRowKeys(box, `findings ${to({})}`, resource.data !== null);
  return html`
    <div class="view findings-view">
      <header class="view-head">
        <h1>Findings</h1>
        <p class="total" role="status">${resource.data ? `in ${plural(resource.data.requests, 'request')}` : ''}</p>
        <${Clear} view="findings" filters=${query} />
      </header>
      <form class="filters" role="search" aria-label="Choose a time" onSubmit=${event => event.preventDefault()}>
        <${TimeWindow} query=${query} onChange=${changes => replace(to(changes))} />
      </form>
      <div class="scroll" ref=${box}>
        <${Loaded} resource=${resource}>${data => html`<${All} data=${data} query=${query} to=${to} />`}<//>
      </div>
    </div>
  `;
}

function All({ data, query, to }) {
  const { findings } = data;
  const shown = query.all ? findings : findings.slice(0, SHOWN);
  const isLost = findings.some(each => each.kind === 'losses');
  return html`
    ${
      findings.length === 0 &&
      html`
        <${Note} title="Nothing is amiss">
          <p>No request took longer than its like, none failed, and no code held an event loop.</p>
        <//>
      `
    }
    <ol class="finding-list" aria-label="Findings">
      ${shown.map(finding => html`<${Row} key=${finding.kind + finding.sentence} finding=${finding} />`)}
    </ol>
    <p class="finding-rest">
      ${
        findings.length > shown.length &&
        html`
          <a href=${to({ all: '1' })}>${count(findings.length - shown.length)} more</a>
        `
      }
      ${!isLost && html`<a class="quiet" href="#/runtime">No record was lost.</a>`}
      <a class="quiet" href=${link(['traces'], timeOf(query))}>All traces</a>
    </p>
  `;
}

function Row({ finding }) {
  const sure = SURE[finding.confidence];
  return html`
    <li class=${`finding-row ${finding.confidence}`} data-row=${finding.kind + finding.sentence}>
      <span class=${`finding-kind ${finding.kind}`}>${KINDS[finding.kind] ?? finding.kind}</span>
      <a class="finding-sentence" data-main href=${finding.link} dir="auto">${finding.sentence}</a>
      <span class="finding-facts quiet">
        ${finding.service && html`<${Service} name=${finding.service} />`}
        ${finding.operation && html`<span dir="auto">${finding.operation}</span>`}
        ${facts(finding).map(text => html`<span>${text}</span>`)}
        ${sure && html`<em>${sure}</em>`}
      </span>
    </li>
  `;
}

// the numbers of a finding that say more than nothing
function facts({ count: seen, ms, failures, share }) {
  return [
    seen > 1 && `${count(seen)} times`,
    failures > 0 && plural(failures, 'failed request'),
    ms > 0 && failures === 0 && `${duration(ms)} in all`,
    share >= 0.01 && failures === 0 && `${percent(share)} of the time`,
  ].filter(Boolean);
}
