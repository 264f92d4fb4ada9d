// One process over time: its loop, its memory, its queues, what it lost, and what happened to it.
import { html, useEffect, useMemo, useState } from '../frame/view.js';
import { address, useResource } from '../frame/api.js';
import { ago, moment } from '../parts/format.js';
import { Icon } from '../parts/icons.js';
import { useKeys } from '../frame/keys.js';
import { Note, Pairs, Service } from '../parts/parts.js';
import { Select } from '../parts/fields.js';
import { go, link, replace } from '../frame/route.js';
import { useWide } from '../frame/theme.js';
import { Signal } from './ledger.js';
import { chartsOf } from './process_charts.js';
import { State, nameOf } from './process_name.js';
import { StripChart } from './strip_chart.js';
import { TimeStrip, blockerOf, kindOf } from './time_strip.js';

const SPANS = [
  ['5', 'Last 5 min'],
  ['15', 'Last 15 min'],
  ['60', 'Last hour'],
  ['all', 'All that is kept'],
];
const STEP_MS = 30_000; // so that the address of the answer stays the same for a while
const SHORTEST_MS = 60_000;

export function Process({ service, instance, known, query }) {
  const wide = useWide();
  const last = query.last ?? '15';
  // of one that has gone, the time before it went
  const end = known && known.state !== 'alive' ? known.last_seen + 5000 : Date.now();
  const from = last === 'all' ? '' : Math.floor(end / STEP_MS) * STEP_MS - Number(last) * 60_000;
  const { data, error } = useResource(address('process', { service, instance, from }), 3000);
  const [kept, setKept] = useState(null);
  useEffect(() => {
    if (data) setKept(data);
  }, [data]);
  const shown = data ?? kept;
  const charts = useMemo(() => chartsOf(shown?.meters ?? []), [shown]);
  const events = useMemo(() => shown?.events ?? [], [shown]);
  const marks = useMemo(() => events.map(each => ({ time: each.time, kind: kindOf(each) })), [events]);
  const span = spanOf(charts, events, from, end);
  useKeys({ Escape: () => go('#/runtime') });
  if (!known)
    return html`
      <${Note} title="No such process is known">
        <p>It has made room for newer ones, or never reported. <a href="#/runtime">To those that are known</a></p>
      <//>
    `;
  return html`
    <${Head} process=${known} query=${query} last=${last} />
    <div class="scroll">
      ${
        error?.status > 0 &&
        html`
          <${Note} title="That did not work" kind="error"><p>${error.message}</p><//>
        `
      }
      <${Columns} charts=${charts} span=${span} events=${events} marks=${marks} wide=${wide} loaded=${shown !== null} />
      <${Events} events=${events} />
      <${Records} process=${known} />
      ${
        Object.keys(known.properties).length > 0 &&
        html`
          <h2 class="group">Properties</h2>
          <${Pairs} pairs=${[['instance', instance], ...Object.entries(known.properties)]} label="Properties" />
        `
      }
    </div>
  `;
}

function spanOf(charts, events, from, end) {
  if (from) return { from, to: Math.max(end, from + SHORTEST_MS) };
  const times = [
    ...charts.flatMap(each => each.series.map(({ points }) => points[0][0])),
    ...events.map(each => each.time),
  ];
  const begin = times.length ? Math.min(...times) : end - SHORTEST_MS;
  return { from: Math.min(begin, end - SHORTEST_MS), to: end };
}

function Head({ process, query, last }) {
  const { service, instance } = process;
  const set = value => replace(link(['runtime', service, instance], { ...query, last: value }));
  return html`
    <header class="view-head process-head">
      <a class="plain" href="#/runtime" aria-label="Back to the processes (Esc)" title="Back (Esc)">
        <${Icon} name="back" />
      </a>
      <h1><${Service} name=${service} /> <span class="process-title" dir="auto">${nameOf(process)}</span></h1>
      <p class="facts">
        <${State} state=${process.state} />
        ${
          process.runtime &&
          html`
            <span>${process.runtime}</span>
          `
        }
        ${
          process.started &&
          html`
            <span>started ${moment(process.started, false)}</span>
          `
        }
        <span>seen ${ago(process.last_seen)}</span>
      </p>
      <div class="process-tools">
        <${Select} neutral=${true} label="Time" value=${last} options=${SPANS} onChange=${set} />
        <a href=${link(['traces'], { service })}>Traces</a>
        <a href=${link(['logs'], { service })}>Logs</a>
        ${
          process.meters.length > 0 &&
          html`
            <a href=${link(['meters'], { service, instance })}>All meters</a>
          `
        }
      </div>
    </header>
  `;
}

function Columns({ charts, span, events, marks, wide, loaded }) {
  if (charts.length === 0)
    return html`
      <p class="quiet pad">${loaded ? 'It has reported no meter in this time.' : ''}</p>
    `;
  return html`
    <${TimeStrip} span=${span} events=${events} wide=${wide} />
    ${charts.map(
      chart => html`
        <${StripChart} key=${`${chart.title} ${chart.hint ?? ''}`} chart=${chart} span=${span} marks=${marks} />
      `,
    )}
  `;
}

function Events({ events }) {
  if (events.length === 0) return null;
  return html`
    <h2 class="group">Events</h2>
    <ul class="events">
      ${events.slice(0, 50).map(event => {
        const blocker = blockerOf(event);
        return html`
          <li class=${kindOf(event)}>
            <time>${moment(event.time, false)}</time>
            <b>${event.name}</b>
            <span>
              ${event.message}${' '}
              ${
                blocker &&
                html`
                  <a href=${blocker}>Its traces</a>
                `
              }
            </span>
          </li>
        `;
      })}
    </ul>
  `;
}

function Records({ process }) {
  if (process.signals.length === 0)
    return html`
      <h2 class="group">Records</h2>
      <p class="quiet">
        It keeps no ledger, or has not reported it: swagent sends it with its meters, over gRPC and Kafka.
      </p>
    `;
  return html`
    <h2 class="group">Records <span class="quiet">as of ${ago(process.reported)}</span></h2>
    <div class="signals">
      ${process.signals.map(
        signal => html`
          <${Signal} key=${signal.signal} signal=${signal} />
        `,
      )}
    </div>
  `;
}
