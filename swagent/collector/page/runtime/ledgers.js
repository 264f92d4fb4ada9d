// What became of every record, as the agents themselves count: plainly, where some got lost.
import { html } from '../frame/view.js';
import { address, useResource } from '../frame/api.js';
import { ago, count, percent, plural } from '../parts/format.js';
import { Icon } from '../parts/icons.js';
import { Loaded, Note, Service } from '../parts/parts.js';

const REASONS = {
  refused: {
    full: 'the queue was full',
    too_large: 'too large for one message',
    encode_error: 'could not be encoded',
    disabled: 'the signal is switched off',
    forked: 'recorded in a forked child',
    shutdown: 'recorded after the agent had stopped',
  },
  dropped: {
    rejected: 'the collector said no',
    ambiguous: 'sent, and never answered: may have arrived',
    expired: 'waited too long',
    evicted: 'pushed out by newer records',
    shutdown: 'left over when the time to stop was up',
    internal: 'a fault in the agent',
  },
};
const PARTS = [
  ['confirmed', 'confirmed'],
  ['queued', 'queued'],
  ['in_flight', 'in flight'],
  ['dropped', 'dropped'],
  ['refused', 'refused'],
];

const byName = (one, other) =>
  one.service.localeCompare(other.service) || one.instance.localeCompare(other.instance);

export function Ledgers() {
  const resource = useResource(address('ledgers'), 2000);
  return html`
    <div class="view ledgers">
      <header class="view-head">
        <h1>Ledgers</h1>
        <p class="total">What became of every record, counted by the agents</p>
      </header>
      <div class="scroll">
        <${Loaded} resource=${resource}>
          ${({ agents }) =>
            agents.length === 0
              ? html`
                  <${Note} title="No agent has reported its ledger">
                    <p>swagent sends it with its meters, over gRPC and Kafka. Other agents keep none.</p>
                  <//>
                `
              : html`
                  <${Verdict} agents=${agents} />
                  <div class="cards wide">
                    ${[...agents].sort(byName).map(
                      each => html`
                        <${Agent} key=${`${each.service}/${each.instance}`} agent=${each} />
                      `,
                    )}
                  </div>
                `}
        <//>
      </div>
    </div>
  `;
}

const sum = counts => Object.values(counts).reduce((total, each) => total + each, 0);
const totals = signal => ({ ...signal, refused: sum(signal.refused), dropped: sum(signal.dropped) });
// switching a signal off is a choice, not a loss
const lostOf = signal => sum(signal.dropped) + sum(signal.refused) - (signal.refused.disabled ?? 0);

const onTheWay = agents =>
  agents.flatMap(each => each.signals).reduce((total, { queued, in_flight: sent }) => total + queued + sent, 0);

function Verdict({ agents }) {
  const gone = agents.filter(each => each.state !== 'alive');
  const unknown = onTheWay(gone);
  const signals = agents.flatMap(agent => agent.signals.map(signal => ({ agent, signal, lost: lostOf(signal) })));
  const lost = signals.reduce((total, each) => total + each.lost, 0);
  const offered = signals.reduce((total, each) => total + each.signal.offered, 0);
  if (lost === 0) {
    return html`
      <div class=${`verdict ${unknown > 0 ? 'lossy' : 'fine'}`}>
        <${Icon} name=${unknown > 0 ? 'warning' : 'check'} />
        <p>
          <b>${gone.length > 0 ? 'Nothing known to be lost.' : 'Nothing lost.'}</b> Of ${plural(offered, 'record')}${' '}
          ${unknown > 0 ? 'most were' : 'each was'} confirmed${onTheWay(agents) > unknown ? ', or is on its way' : ''}.${' '}
          <${Gone} agents=${gone} unknown=${unknown} />
        </p>
      </div>
    `;
  }
  const places = signals.filter(each => each.lost > 0).sort((one, other) => other.lost - one.lost);
  return html`
    <div class="verdict lossy">
      <${Icon} name="warning" />
      <div>
        <p>
          <b>${plural(lost, 'record')} lost</b> of ${count(offered)} (${percent(lost / Math.max(1, offered))}):
        </p>
        <ul>
          ${places.map(
            ({ agent, signal, lost: here }) => html`
              <li>
                <b>${count(here)}</b> ${signal.signal}${here === 1 ? '' : 's'} of <${Service} name=${agent.service} />${' '}
                <span class="quiet">${agent.instance}</span>
              </li>
            `,
          )}
        </ul>
        <p><${Gone} agents=${gone} unknown=${unknown} /></p>
      </div>
    </div>
  `;
}

// who has stopped or is silent cannot tell what became of its last records
function Gone({ agents, unknown }) {
  if (agents.length === 0) return null;
  const who = `${plural(agents.length, 'agent')} that ${agents.length === 1 ? 'has' : 'have'} stopped or went silent`;
  return unknown > 0
    ? html`
        ${plural(unknown, 'record')} of ${who} ${unknown === 1 ? 'was' : 'were'} on the way at the last report: nobody
        can say what became of ${unknown === 1 ? 'it' : 'them'}.
      `
    : html`
        What ${who} recorded after the last report is not in these numbers.
      `;
}

function Agent({ agent }) {
  return html`
    <article class="card ledger" aria-label=${`${agent.service} ${agent.instance}`}>
      <header>
        <h2><${Service} name=${agent.service} /></h2>
        <p class="facts">
          <code>${agent.instance}</code>
          ${
            agent.state !== 'alive' &&
            html`
              <span class="badge warn">${agent.state}</span>
            `
          }
          <span>as of ${ago(agent.time)}</span>
        </p>
      </header>
      ${agent.signals.map(
        signal => html`
          <${Signal} key=${signal.signal} signal=${signal} />
        `,
      )}
    </article>
  `;
}

function Signal({ signal }) {
  const parts = totals(signal);
  const whole = Math.max(1, signal.offered);
  const shown = PARTS.filter(([name]) => parts[name] > 0);
  const text = shown.map(([name, label]) => `${count(parts[name])} ${label}`).join(', ') || 'nothing yet';
  return html`
    <section class="signal" aria-label=${signal.signal}>
      <header>
        <h3>${signal.signal}</h3>
        <span class="number">${count(signal.offered)} offered</span>
      </header>
      <div class="stack-bar" role="img" aria-label=${text}>
        ${shown.map(
          ([name]) => html`
            <i class=${name} style=${{ flexGrow: String(parts[name] / whole) }}></i>
          `,
        )}
      </div>
      <ul class="legend">
        ${PARTS.filter(([name]) => parts[name] > 0 || name === 'confirmed').map(
          ([name, label]) => html`
            <li class=${name}>
              <i aria-hidden="true"></i>
              <b class="number">${count(parts[name])}</b> ${label}
            </li>
          `,
        )}
      </ul>
      ${['dropped', 'refused'].map(kind =>
        Object.entries(signal[kind])
          .filter(([, number]) => number > 0)
          .map(
            ([reason, number]) => html`
              <p class="reason">
                <b class="number">${count(number)}</b> ${kind}: <code>${reason}</code>${' '}
                ${
                  REASONS[kind][reason] &&
                  html`
                    <span class="quiet">${REASONS[kind][reason]}</span>
                  `
                }
              </p>
            `,
          ),
      )}
    </section>
  `;
}
