// The spans that held the loop, and those that waited for it, in other traces of the same processes.
import { html, useMemo } from '../frame/view.js';
import { address, useResource } from '../frame/api.js';
import { link } from '../frame/route.js';
import { duration, plural } from '../parts/format.js';
import { Stack } from '../parts/stack.js';
import { overlaps } from './intervals.js';
import { blocksOf, BLOCKED, concerned, instanceOf, millisOf, WAITED } from './loop_blocks.js';

const SHOWN = 20;
const NONE = [];

// by the clock of this trace
export function useNeighbours(trace) {
  const ours = useMemo(() => concerned(trace.spans), [trace]);
  const url = ours.length > 0 ? address('loop', { trace_id: trace.trace_id }) : null;
  const { data } = useResource(url, 3000);
  return useMemo(() => {
    const shifts = new Map(ours.map(each => [instanceOf(each), each.shift]));
    return data ? data.spans.map(each => moved(each, shifts.get(instanceOf(each)) ?? 0)) : NONE;
  }, [data, ours]);
}

const moved = (span, shift) => ({
  ...span,
  start: span.start + shift,
  end: span.end + shift,
  logs: span.logs.map(log => ({ ...log, time: log.time + shift })),
});

// One that came in while the loop was blocked was seen by the application after that. So it waited before its span.
const waiting = span => ({ start: span.start - millisOf(span, WAITED), end: span.end });

const victimsOf = (span, others) =>
  others.filter(
    each =>
      millisOf(each, WAITED) &&
      instanceOf(each) === instanceOf(span) &&
      blocksOf(span).some(block => overlaps(block, waiting(each))),
  );

const blockersOf = (span, others) =>
  others.filter(
    each => instanceOf(each) === instanceOf(span) && blocksOf(each).some(block => overlaps(block, waiting(span))),
  );

// in the details of a span
export function Loop({ span, trace, neighbours }) {
  const all = [
    ...concerned(trace.spans)
      .filter(each => each !== span)
      .map(each => ({ ...each, trace_id: trace.trace_id })),
    ...neighbours,
  ];
  const blocks = blocksOf(span);
  return html`
    ${
      blocks.length > 0 &&
      html`
        <section class="loop blocker" aria-label="It held the loop">
          <h3>It held the event loop for ${duration(millisOf(span, BLOCKED))}</h3>
          ${blocks
            .filter(each => each.stack)
            .map(
              each => html`
                <p class="frame-name"><code>${each.frame}</code></p>
                <${Stack} text=${each.stack} label="the stack of the blocked loop" />
              `,
            )}
          <${Spans} title="Who waited for it" spans=${victimsOf(span, all)} key_=${WAITED} none="No request that is kept." />
        </section>
      `
    }
    ${
      millisOf(span, WAITED) > 0 &&
      html`
        <section class="loop victim" aria-label="It waited for the loop">
          <h3>It waited ${duration(millisOf(span, WAITED))} for a blocked event loop</h3>
          <${Spans}
            title="Who held the loop"
            spans=${blockersOf(span, all)}
            key_=${BLOCKED}
            none="None that is kept: it has not arrived, fell out, or was in no request. The events of the instance name its frame."
          />
        </section>
      `
    }
  `;
}

function Spans({ title, spans, key_: key, none }) {
  const shown = [...spans].sort((one, other) => millisOf(other, key) - millisOf(one, key)).slice(0, SHOWN);
  return html`
    <h3>${title}</h3>
    ${
      spans.length === 0
        ? html`
            <p class="quiet">${none}</p>
          `
        : html`
            <ul class="relations" aria-label=${title}>
              ${shown.map(
                each => html`
                  <li key=${`${each.trace_id} ${each.id}`}>
                    <a href=${link(['traces', each.trace_id], { span: each.id })}>${each.operation || '(unnamed)'}</a>
                    <span class="number">${duration(millisOf(each, key))}</span>
                    ${
                      key === BLOCKED &&
                      html`
                        <code>${blocksOf(each)[0]?.frame}</code>
                      `
                    }
                  </li>
                `,
              )}
            </ul>
          `
    }
    ${
      spans.length > SHOWN &&
      html`
        <p class="quiet">and ${plural(spans.length - SHOWN, 'more request')}</p>
      `
    }
  `;
}
