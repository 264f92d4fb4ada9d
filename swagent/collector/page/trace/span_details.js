// All that is known of one span.
import { html } from '../frame/view.js';
import { clock, duration } from '../parts/format.js';
import { LogLine } from '../logs/log_rows.js';
import { Copy, Pairs, Service } from '../parts/parts.js';
import { Failure, isError } from './failure.js';
import { BLOCKED } from './loop_blocks.js';
import { Loop } from './loop_neighbours.js';
import { Relations } from './relations.js';
import { SpanProfile } from '../profiles/span_profile.js';
import { tasksOf } from './task_tree.js';
import { shareOf } from './share.js';
import { Tasks } from './tasks.js';
import { isMeasured } from './time_split.js';
import { WhyDetails } from './why.js';
import { link } from '../frame/route.js';
import { TagFilter } from '../traces/tag_filter.js';

// the tags that are shown in another way than as a tag
const SPLIT = new Set(['time.running', 'time.ready', 'time.awaiting', 'time.gc', 'time.awaited']);
const isShownElsewhere = (key, span) =>
  span.kind === 'entry' && ((SPLIT.has(key) && isMeasured(span)) || (key === 'tasks' && tasksOf(span).length > 0));

export function SpanDetails({ span, trace, neighbours, waits }) {
  const lines = trace.logs.filter(each => `${each.segment_id}:${each.span_id}` === span.id);
  const above = trace.spans.find(each => each.id === span.parent);
  const errors = span.logs.filter(isError);
  const notes = span.logs.filter(each => !isError(each) && !isBlock(each));
  const share = shareOf(span, trace);
  const tags = span.tags.filter(([key]) => !isShownElsewhere(key, span));
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
        <dt>${share.of}</dt>
        <dd>${share.percent} %</dd>
      </div>
    </dl>
    ${errors.map(
      each => html`
        <${Failure} log=${each} handled=${!span.error} key=${each.time} />
      `,
    )}
    <${SpanProfile} span=${span} trace=${trace} />
    <${Loop} span=${span} trace=${trace} neighbours=${neighbours} />
    ${
      span.kind === 'entry' &&
      html`
        <${WhyDetails} span=${span} spans=${trace.spans} waits=${waits} />
        <${Tasks} span=${span} />
      `
    }
    ${
      tags.length > 0 &&
      html`
        <h3>Tags</h3>
        <${Pairs}
          pairs=${tags}
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

const isBlock = log => log.fields.some(([key, value]) => key === 'event' && value === BLOCKED);
