// The processes that report: those that live, and folded those that have gone.
import { html } from '../frame/view.js';
import { address, useResource } from '../frame/api.js';
import { ago, count, duration, plural } from '../parts/format.js';
import { Icon } from '../parts/icons.js';
import { Loaded, Note, Service } from '../parts/parts.js';
import { Select } from '../parts/fields.js';
import { link, replace } from '../frame/route.js';
import { lostOf } from './ledger.js';
import { percentage } from './meter_names.js';
import { memoryOf } from './process_charts.js';
import { Process } from './process.js';
import { State, nameOf } from './process_name.js';
import { Verdict } from './verdict.js';

export function Runtime({ rest, query }) {
  const resource = useResource(address('processes'), 3000);
  if (rest.length > 1) {
    return html`
      <div class="view runtime">
        <${Loaded} resource=${resource}>
          ${({ processes }) => html`
            <${Process}
              key=${rest.join('\n')}
              service=${rest[0]}
              instance=${rest[1]}
              known=${processes.find(each => each.service === rest[0] && each.instance === rest[1])}
              query=${query}
            />
          `}
        <//>
      </div>
    `;
  }
  return html`
    <div class="view runtime">
      <header class="view-head">
        <h1>Runtime</h1>
        <p class="total">How each process does, and what became of its records</p>
      </header>
      <${Loaded} resource=${resource}>
        ${({ processes }) =>
          processes.length === 0
            ? html`
                <${Note} title="No process has reported yet" />
              `
            : html`
                <${Processes} processes=${processes} query=${query} />
              `}
      <//>
    </div>
  `;
}

function Processes({ processes, query }) {
  const names = [...new Set(processes.map(each => each.service))];
  const shown = processes.filter(each => !query.service || each.service === query.service);
  const alive = shown.filter(each => each.state === 'alive');
  const gone = shown.filter(each => each.state !== 'alive').sort((one, other) => other.last_seen - one.last_seen);
  // those that are gone are seen unasked only where there is nothing else to see
  const open = query.gone ? query.gone === '1' : alive.length === 0;
  const set = changes => replace(link(['runtime'], { ...query, ...changes }));
  return html`
    <form class="filters" aria-label="Choose processes" onSubmit=${event => event.preventDefault()}>
      <${Select}
        label="Service"
        value=${query.service ?? ''}
        options=${[['', 'All services'], ...names.map(name => [name, name])]}
        onChange=${service => set({ service })}
      />
    </form>
    <div class="scroll">
      <${Verdict} processes=${shown} />
      ${
        alive.length > 0
          ? html`
              <${Table} processes=${alive} label="Processes that are alive" />
            `
          : html`
              <p class="quiet">No process is alive.</p>
            `
      }
      ${
        gone.length > 0 &&
        html`
          <button
            type="button"
            class="fold"
            aria-expanded=${open ? 'true' : 'false'}
            onClick=${() => set({ gone: open ? '0' : '1' })}
          >
            <${Icon} name=${open ? 'down' : 'open'} size=${12} />
            ${goneText(gone)}
          </button>
          ${
            open &&
            html`
              <${Table} processes=${gone} label="Processes that have gone" />
            `
          }
        `
      }
    </div>
  `;
}

function goneText(gone) {
  const stopped = gone.filter(each => each.state === 'stopped').length;
  const parts = [
    [stopped, 'stopped'],
    [gone.length - stopped, 'silent'],
  ].filter(([number]) => number > 0);
  return `${parts.map(([number, word]) => `${count(number)} ${word}`).join(' and ')} ${gone.length === 1 ? 'process' : 'processes'}`;
}

const COLUMNS = ['State', 'Started', 'Loop lag', 'Tasks', 'Memory', 'CPU', 'Lost'];

function Table({ processes, label }) {
  return html`
    <table class="table processes" aria-label=${label}>
      <thead>
        <tr>
          <th scope="col">Process</th>
          ${COLUMNS.map(
            (text, index) => html`
              <th scope="col" class=${index > 1 ? 'number' : ''}>${text}</th>
            `,
          )}
        </tr>
      </thead>
      <tbody>
        ${processes.map(
          each => html`
            <${Row} key=${`${each.service}\n${each.instance}`} process=${each} />
          `,
        )}
      </tbody>
    </table>
  `;
}

function Row({ process }) {
  const { now } = process;
  const lost = process.signals.reduce((total, each) => total + lostOf(each), 0);
  return html`
    <tr class=${`process ${process.state}`}>
      <th scope="row">
        <a class="process-name" href=${link(['runtime', process.service, process.instance])}>
          <${Service} name=${process.service} />
          <span class="quiet" dir="auto" title=${process.instance}>${nameOf(process)}</span>
          <span class="quiet">${process.runtime}</span>
        </a>
      </th>
      <td data-label="">
        <${State} state=${process.state} />
        ${
          process.state !== 'alive' &&
          html`
            <span class="quiet seen">${ago(process.last_seen)}</span>
          `
        }
      </td>
      <td data-label="Started" class="quiet began">${process.started ? ago(process.started) : '–'}</td>
      <td data-label="Loop lag" class="number">${read(now.swagent_loop_lag, duration)}</td>
      <td data-label="Tasks" class="number">${read(now.swagent_tasks, count)}</td>
      <td data-label="Memory" class="number">${memoryOf(now)}</td>
      <td data-label="CPU" class="number">${read(now.instance_pvm_process_cpu_utilization, percentage)}</td>
      <td data-label="Lost" class="number">
        ${
          lost > 0
            ? html`
                <span class="bad" title=${plural(lost, 'record')}>${count(lost)}</span>
              `
            : process.signals.length > 0
              ? '0'
              : '–'
        }
      </td>
    </tr>
  `;
}

const read = (value, format) => (value === undefined ? '–' : format(value));
