// Log lines: as rows of a long list, and one in full.
import { html, useMemo, useState } from '../frame/view.js';
import { briefMoment, clock, moment } from '../parts/format.js';
import { Icon } from '../parts/icons.js';
import { Pairs, Service } from '../parts/parts.js';
import { link } from '../frame/route.js';
import { jsonIn } from './json_text.js';
import { placed } from '../frame/virtual.js';

const LEVELS = {
  CRITICAL: 'error',
  FATAL: 'error',
  ERROR: 'error',
  WARNING: 'warn',
  WARN: 'warn',
  INFO: 'info',
  DEBUG: 'debug',
  TRACE: 'debug',
};

export function Level({ level }) {
  return html`
    <span class=${`level ${LEVELS[level?.toUpperCase()] ?? 'info'}`}>${level || '–'}</span>
  `;
}

const toTrace = log =>
  link(['traces', log.trace_id], { span: log.segment_id ? `${log.segment_id}:${log.span_id}` : '' });

const AROUND_MS = 60_000;
const around = log => link(['logs'], { id: log.id, from: log.time - AROUND_MS, to: log.time + AROUND_MS });

export function LogRow({ log, index, height, active, chosen, total, onChoose }) {
  return html`
    <div
      role="listitem"
      aria-setsize=${total ?? -1}
      aria-posinset=${index + 1}
      class="row-box"
      style=${placed(index, height)}
    >
      <div class=${`log-row ${active ? 'active' : ''} ${chosen ? 'chosen' : ''}`}>
        <button type="button" class="log-open" onClick=${onChoose} aria-expanded=${chosen ? 'true' : 'false'}>
          <time class="when" title=${moment(log.time)}>${briefMoment(log.time)}</time>
          <${Level} level=${log.level} />
          <${Service} name=${log.service} quiet=${true} />
          <span class="text">${gist(log)}</span>
        </button>
        ${
          log.trace_id
            ? html`
                <a class="to-trace" href=${toTrace(log)} aria-label="Its trace" title="Its trace">
                  <${Icon} name="traces" size=${15} />
                </a>
              `
            : html`
                <i class="to-trace"></i>
              `
        }
      </div>
    </div>
  `;
}

// a layout that repeats time, thread, level and logger would leave no room for what was said: the row has those beside it
export function gist({ text, level, logger }) {
  const lines = text.split('\n').filter(line => line.trim());
  // the last line says what was raised
  let rest = (lines[0]?.startsWith('Traceback ') ? lines.at(-1) : lines[0]) ?? '';
  const steps = [
    /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?\S*\s+/,
    /^\[[^\]]*\]\s+/,
    starting(level),
    starting(logger),
    /^[-:|]\s+/,
  ];
  for (const step of steps) rest = rest.replace(step, '');
  return rest || text.trim() || '(empty)';
}

const starting = word => (word ? new RegExp(`^${word.replace(/[^\w]/g, '\\$&')}[\\s:]+`) : /(?!)/);

export function LogDetails({ log }) {
  const tags = log.tags.filter(([key]) => key !== 'level' && key !== 'logger'); // shown by themselves
  return html`
    <p class="facts">
      <${Level} level=${log.level} />
      <${Service} name=${log.service} />
      <time>${moment(log.time)}</time>
    </p>
    <${Content} text=${log.text} />
    <p class="links">
      ${
        log.trace_id &&
        html`
          <a href=${toTrace(log)}>Open its trace</a>
          <a href=${link(['logs'], { trace_id: log.trace_id })}>All logs of the trace</a>
        `
      }
      <a href=${around(log)}>Lines around it</a>
    </p>
    ${
      tags.length > 0 &&
      html`
        <h3>Tags</h3>
        <${Pairs} pairs=${tags} label="Tags" />
      `
    }
    <h3>Where</h3>
    <${Pairs}
      label="Where"
      pairs=${[
        ['logger', log.logger],
        ['instance', log.instance],
        ['endpoint', log.endpoint],
        ['trace', log.trace_id],
        ['span', log.segment_id ? `${log.segment_id}:${log.span_id}` : ''],
      ].filter(([, value]) => value)}
    />
  `;
}

// JSON is indented; what came stays within reach
function Content({ text }) {
  const [plain, setPlain] = useState(false);
  const found = useMemo(() => jsonIn(text), [text]);
  if (!found)
    return html`
      <pre class="log-text" tabindex="0">${text}</pre>
    `;
  const [before, json] = found;
  return html`
    ${
      before &&
      !plain &&
      html`
        <p class="log-before">${before}</p>
      `
    }
    <pre class="log-text" tabindex="0">${plain ? text : json}</pre>
    <button
      type="button"
      class=${`toggle small as-it-came ${plain ? 'on' : ''}`}
      aria-pressed=${plain ? 'true' : 'false'}
      onClick=${() => setPlain(!plain)}
    >
      as it came
    </button>
  `;
}

export function LogLine({ log }) {
  return html`
    <p class="facts">
      <time>${clock(log.time)}</time>
      <${Level} level=${log.level} />
      <span>${log.logger}</span>
    </p>
    <pre class="log-text">${log.text}</pre>
  `;
}

// the few lines of one trace, in full
export function LogRows({ logs }) {
  if (logs.length === 0)
    return html`
      <p class="quiet pad">No log line was written under this trace, or none at a level that is reported.</p>
    `;
  return html`
    <ul class="lines pad">
      ${logs.map(
        log => html`
          <li key=${log.id}>
            <p class="facts">
              <time>${clock(log.time)}</time>
              <${Level} level=${log.level} />
              <${Service} name=${log.service} />
              ${
                log.segment_id &&
                html`
                  <a href=${toTrace(log)}>its span</a>
                `
              }
            </p>
            <pre class="log-text">${log.text}</pre>
          </li>
        `,
      )}
    </ul>
  `;
}
