// A trace as a row of the list.
import { html } from '../frame/view.js';
import { colourClass } from '../parts/colours.js';
import { Icon } from '../parts/icons.js';
import { briefMoment, count, duration, moment, percent, plural } from '../parts/format.js';
import { link } from '../frame/route.js';
import { Service } from '../parts/parts.js';
import { failureText } from './failure_text.js';
import { placed } from '../frame/virtual.js';

const SHOWN = 2; // of the other services; all are in the title

export function Head() {
  return html`
    <div class="trace-head" aria-hidden="true">
      <span>Started</span>
      <span title="The bars are logarithmic: twice as long is more than twice the time">Duration (log)</span>
      <span>Endpoint</span>
      <span class="mostly" title="What had most of its time">Mostly</span>
      <span>Services</span>
      <span class="number">Spans</span>
    </div>
  `;
}

export function Row({ trace, scale, index, height, active, wide, total, onOpen }) {
  const others = trace.services.filter(name => name !== trace.service);
  const failure = failureText(trace);
  const { failed } = trace;
  const mostly = trace.mostly ? `${trace.mostly.text} ${percent(trace.mostly.share)}` : '';
  const long = moment(trace.start);
  return html`
    <div
      role="listitem"
      aria-setsize=${total ?? -1}
      aria-posinset=${index + 1}
      class="row-box"
      style=${placed(index, height)}
    >
      <a
        class=${`trace-row ${active ? 'active' : ''} ${failed ? 'failed' : ''}`}
        href=${link(['traces', trace.trace_id])}
        onClick=${onOpen}
      >
        <time class="when" title=${long}>${briefMoment(trace.start, wide)}</time>
        <span class="took">
          <b>${duration(trace.duration)}</b>
          <i class="took-bar" aria-hidden="true">
            <i style=${{ width: `${Math.max(2, (Math.log1p(trace.duration) / scale) * 100)}%` }}></i>
          </i>
        </span>
        <span class="what">
          <span class="endpoint" dir="auto" title=${trace.endpoint}>${trace.endpoint || '(unnamed)'}</span>
          ${
            failure &&
            html`
              <span class=${`badge ${failed ? 'error' : ''}`} title=${`${failure}: ${plural(trace.errors, 'span')} failed`}>${failure}</span>
            `
          }
          ${
            trace.has_logs &&
            html`
              <span class="has-logs" title="has log lines"><${Icon} name="logs" size=${13} /></span>
            `
          }
        </span>
        <span class="mostly" dir="auto" title=${mostly}>${mostly}</span>
        <span class="who">
          <${Service} name=${trace.service} />
          ${
            others.length > 0 &&
            html`
              <span class="others" title=${others.join(', ')}>
                ${others.slice(0, SHOWN).map(
                  name => html`
                    <i class=${`dot ${colourClass(name)}`} aria-hidden="true"></i>
                    <span class="other-name">${name}</span>
                  `,
                )}${others.length > SHOWN ? `+${others.length - SHOWN}` : ''}
              </span>
            `
          }
        </span>
        <span class="spans number">
          ${count(trace.spans)}<span class="out-of-sight"> spans</span>
        </span>
      </a>
    </div>
  `;
}
