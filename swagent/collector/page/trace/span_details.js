// All that is known of one span.
import { html } from '../frame/view.js';
import { clock, duration } from '../parts/format.js';
import { LogLine } from '../logs/log_rows.js';
import { Copy, Pairs, Service } from '../parts/parts.js';
import { Relations } from './relations.js';
import { link } from '../frame/route.js';
import { TagFilter } from '../traces/tag_filter.js';

export function SpanDetails({ span, trace }) {
  const lines = trace.logs.filter(each => `${each.segment_id}:${each.span_id}` === span.id);
  const above = trace.spans.find(each => each.id === span.parent);
  const errors = span.logs.filter(isError);
  const notes = span.logs.filter(each => !isError(each));
  return html`
    <p class="span-title">
      <b dir="auto">${span.operation || '(unnamed)'}</b>
      <${Copy} text=${span.operation} label="the operation" />
    </p>
    <p class="facts">
      <${Service} name=${span.service} />
      <span class="badge">${span.kind}</span>
      ${
        span.layer &&
        span.layer !== 'Unknown' &&
        html`
          <span class="badge">${span.layer}</span>
        `
      }${
        span.error &&
        html`
          <span class="badge error">failed</span>
        `
      }
    </p>
    <dl class="numbers">
      <div>
        <dt>Duration</dt>
        <dd>${duration(span.end - span.start)}</dd>
      </div>
      <div>
        <dt>After start</dt>
        <dd>${duration(span.start - trace.start)}</dd>
      </div>
      <div>
        <dt>Of the trace</dt>
        <dd>${Math.round(((span.end - span.start) / Math.max(1, trace.duration + trace.after)) * 100)} %</dd>
      </div>
    </dl>
    ${errors.map(
      each => html`
        <${Failure} log=${each} key=${each.time} />
      `,
    )}
    ${
      span.tags.length > 0 &&
      html`
        <h3>Tags</h3>
        <${Pairs}
          pairs=${span.tags}
          label="Tags"
          beside=${(name, value) => html`
            <${TagFilter} name=${name} value=${value} />
          `}
        />
      `
    }
    ${
      notes.length > 0 &&
      html`
        <h3>Span logs</h3>
        ${notes.map(
          each => html`
            <div class="span-log">
              <time>${clock(each.time)}</time>
              <${Pairs} pairs=${each.fields} label="Fields" />
            </div>
          `,
        )}
      `
    }
    ${
      lines.length > 0 &&
      html`
        <h3>Log lines</h3>
        <ul class="lines">
          ${lines.map(
            each => html`
              <li><${LogLine} log=${each} /></li>
            `,
          )}
        </ul>
      `
    }
    <h3>Where</h3>
    <${Pairs}
      label="Where"
      pairs=${[
        ['instance', span.instance],
        ['component', span.component],
        ['peer', span.peer],
        ['start', clock(span.start)],
        ['end', clock(span.end)],
        ['span', span.id],
        [
          'clock',
          span.shift
            ? `${duration(Math.abs(span.shift))} ${span.shift > 0 ? 'behind' : 'ahead'}, and corrected by its caller's span`
            : '',
        ],
        ['parent', above ? above.id : span.missing_parent ? `${span.parent ?? 'unknown'} (has not arrived)` : ''],
      ].filter(([, value]) => value)}
    />
    <${Relations} title="Other parents" links=${span.parents} trace=${trace} />
    <${Relations} title="Other consumers" links=${span.consumers} trace=${trace} />
    <p class="links">
      <a
        href=${link(['traces'], { service: span.service, ...(span.kind === 'entry' ? { endpoint: span.operation } : {}) })}
      >
        ${span.kind === 'entry' ? 'Traces of this endpoint' : `Traces of ${span.service}`}
      </a>
      <a href=${link(['logs'], { service: span.service })}>Logs</a>
      <a href=${link(['meters'], { service: span.service, instance: span.instance })}>Meters</a>
    </p>
  `;
}

// SkyWalking's own Python agent says it by a field `Traceback`
const isError = log =>
  log.fields.some(
    ([key, value]) => (key === 'event' && value === 'error') || key === 'error.kind' || key === 'Traceback',
  );

function errorOf(fields) {
  const { 'error.kind': kind, message, stack, Traceback: traceback } = fields;
  if (!traceback) return { kind: kind ?? 'Error', message, stack };
  const [name, ...rest] = traceback.trimEnd().split('\n').at(-1).split(': ');
  return { kind: kind ?? name, message: message ?? rest.join(': '), stack: stack ?? traceback };
}

function Failure({ log }) {
  const fields = Object.fromEntries(log.fields);
  const { kind, message, stack } = errorOf(fields);
  const rest = log.fields.filter(([key]) => !['event', 'error.kind', 'message', 'stack', 'Traceback'].includes(key));
  return html`
    <section class="failure" aria-label="Error">
      ${
        stack &&
        html`
          <${Copy} text=${stack} label="the stack" />
        `
      }
      <p>
        <b>${kind}</b>${' '}
        ${
          message &&
          html`
            ${message}
          `
        }
      </p>
      ${
        stack &&
        html`
          <pre class="stack" tabindex="0">${stack}</pre>
        `
      }
      ${
        rest.length > 0 &&
        html`
          <${Pairs} pairs=${rest} label="Fields" />
        `
      }
    </section>
  `;
}
