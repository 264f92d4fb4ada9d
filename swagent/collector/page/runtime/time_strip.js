// The time axis that a process's charts share, with what happened as marks.
import { html } from '../frame/view.js';
import { clock, moment } from '../parts/format.js';
import { link } from '../frame/route.js';
import { LEFT, RIGHT } from './strip_chart.js';

const STEPS_S = [5, 10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400];
const BEFORE_MS = 60_000; // a request that holds the loop has begun before it does
const SIGNS = { Start: '▲', Shutdown: '■', loop_blocked: '●' };

export const kindOf = event => (event.name === 'loop_blocked' || event.type?.toLowerCase() === 'error' ? 'bad' : '');

// where the trace of what held the loop is found
export const blockerOf = event =>
  event.name === 'loop_blocked'
    ? link(['traces'], {
        service: event.service,
        q: 'loop.blocked=*',
        from: event.time - BEFORE_MS,
        to: event.end ?? event.time,
      })
    : null;

export const titleOf = event => `${event.name}, ${moment(event.time, false)}: ${event.message}`;

export function TimeStrip({ span, events, wide }) {
  const length = span.to - span.from;
  const place = time => ({ left: `${(100 * (time - span.from)) / length}%` });
  const shown = events.filter(each => each.time >= span.from && each.time <= span.to);
  return html`
    <div class="time-strip">
      <div class="time-track" style=${{ marginLeft: `${LEFT}px`, marginRight: `${RIGHT}px` }}>
        ${ticks(span, wide ? 7 : 3).map(
          ([time, text]) => html`
            <span class="time-tick" style=${place(time)} aria-hidden="true">${text}</span>
          `,
        )}
        ${shown.map(
          event => html`
            <${Mark} event=${event} at=${place(event.time)} />
          `,
        )}
      </div>
    </div>
  `;
}

function Mark({ event, at }) {
  const text = titleOf(event);
  const sign = SIGNS[event.name] ?? '◆';
  const href = blockerOf(event);
  return href
    ? html`
        <a class=${`time-mark ${kindOf(event)}`} style=${at} href=${href} title=${text} aria-label=${text}>${sign}</a>
      `
    : html`
        <span class=${`time-mark ${kindOf(event)}`} style=${at} role="img" title=${text} aria-label=${text}>
          ${sign}
        </span>
      `;
}

function ticks({ from, to }, most) {
  const step = 1000 * (STEPS_S.find(each => (to - from) / 1000 / each <= most) ?? STEPS_S.at(-1));
  const found = [];
  for (let time = Math.ceil(from / step) * step; time <= to; time += step) {
    const text = clock(time, false);
    found.push([time, step < 60_000 ? text : text.slice(0, 5)]);
  }
  return found;
}
