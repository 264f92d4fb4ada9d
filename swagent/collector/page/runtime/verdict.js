// Whether anything got lost, of all processes together: plainly.
import { html } from '../frame/view.js';
import { count, percent, plural } from '../parts/format.js';
import { Icon } from '../parts/icons.js';
import { Service } from '../parts/parts.js';
import { link } from '../frame/route.js';
import { lostOf } from './ledger.js';
import { nameOf } from './process_name.js';

const MOST = 5;
const onTheWay = processes =>
  processes
    .flatMap(each => each.signals)
    .reduce((total, { queued, in_flight: sent, spilled }) => total + queued + sent + spilled, 0);

export function Verdict({ processes }) {
  const reporting = processes.filter(each => each.signals.length > 0);
  if (reporting.length === 0) return null;
  // a process that stopped in order has sent its last ledger behind all other records
  const gone = reporting.filter(each => each.state !== 'alive' && !each.is_final);
  const unknown = onTheWay(gone);
  const signals = reporting.flatMap(process => process.signals.map(signal => ({ process, signal, lost: lostOf(signal) })));
  const lost = signals.reduce((total, each) => total + each.lost, 0);
  const offered = signals.reduce((total, each) => total + each.signal.offered, 0);
  if (lost === 0) {
    return html`
      <div class=${`verdict ${unknown > 0 ? 'lossy' : 'fine'}`}>
        <${Icon} name=${unknown > 0 ? 'warning' : 'check'} />
        <p>
          <b>${gone.length > 0 ? 'Nothing known to be lost.' : 'Nothing lost.'}</b> Of ${plural(offered, 'record')}${' '}
          ${unknown > 0 ? 'most were' : 'each was'} confirmed${onTheWay(reporting) > unknown ? ', or is on its way' : ''}.${' '}
          <${Gone} processes=${gone} unknown=${unknown} />
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
          ${places.slice(0, MOST).map(
            ({ process, signal, lost: here }) => html`
              <li>
                <b>${count(here)}</b> ${signal.signal}${here === 1 ? '' : 's'} of <${Service} name=${process.service} />${' '}
                <a href=${link(['runtime', process.service, process.instance])}>${nameOf(process)}</a>
              </li>
            `,
          )}
          ${
            places.length > MOST &&
            html`
              <li class="quiet">and more in ${plural(places.length - MOST, 'other place')}</li>
            `
          }
        </ul>
        <p><${Gone} processes=${gone} unknown=${unknown} /></p>
      </div>
    </div>
  `;
}

// a process that has stopped or is silent does not report what became of its last records
function Gone({ processes, unknown }) {
  if (processes.length === 0) return null;
  const one = processes.length === 1;
  const who = `${one ? '1 process' : `${count(processes.length)} processes`} that ${one ? 'has' : 'have'} stopped or went silent`;
  return unknown > 0
    ? html`
        ${plural(unknown, 'record')} of ${who} ${unknown === 1 ? 'was' : 'were'} on the way at the last report: it
        is unknown what became of ${unknown === 1 ? 'it' : 'them'}.
      `
    : html`
        What ${who} recorded after the last report is not in these numbers.
      `;
}
