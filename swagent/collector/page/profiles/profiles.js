// The profiles that were asked for, and one of them.
import { html } from '../frame/view.js';
import { address, useResource } from '../frame/api.js';
import { ago, count, duration, moment } from '../parts/format.js';
import { Icon } from '../parts/icons.js';
import { Loaded, Note, Service } from '../parts/parts.js';
import { useKeys } from '../frame/keys.js';
import { go, link, replace } from '../frame/route.js';
import { Flame } from './flame.js';
import { ProfileButton } from './profile_button.js';
import { BADGES, isOver, sentence } from './profile_state.js';

const REPEAT = 5000; // a task's time passes without a record

export function Profiles({ id, query }) {
  return id
    ? html`
        <${Profile} id=${id} query=${query} key=${id} />
      `
    : html`
        <${List} />
      `;
}

function List() {
  const resource = useResource(address('profiles'), 1000, REPEAT);
  return html`
    <div class="view profiles">
      <header class="view-head"><h1>Profiles</h1></header>
      <div class="scroll">
        <${Loaded} resource=${resource}>
          ${({ tasks }) =>
            tasks.length === 0
              ? html`
                  <${Note} title="No endpoint has been profiled yet">
                    <p>
                      A profile shows in which call the requests of an endpoint spend their time: running, ready but waiting for the
                      loop, or awaiting something. Press “Profile” beside an endpoint of a${' '}
                      <a href="#/services">service</a>, or on a request's first span.
                    </p>
                  <//>
                `
              : html`
                  <${Table} tasks=${tasks} />
                `}
        <//>
      </div>
    </div>
  `;
}

function Table({ tasks }) {
  return html`
    <table class="table">
      <thead>
        <tr>
          <th scope="col">Endpoint</th>
          <th scope="col">Service</th>
          <th scope="col">State</th>
          <th scope="col" class="number">Requests</th>
          <th scope="col" class="last">Made</th>
        </tr>
      </thead>
      <tbody>
        ${tasks.map(
          task => html`
            <tr key=${task.id}>
              <th scope="row"><a href=${link(['profiles', task.id])}>${task.endpoint || task.id}</a></th>
              <td>${
                task.service &&
                html`
                  <${Service} name=${task.service} />
                `
              }</td>
              <td><${Badge} state=${task.state} /></td>
              <td class="number" data-label="Requests">${count(task.segments.length)}</td>
              <td class="last" data-label="Made">${task.created ? ago(task.created) : '–'}</td>
            </tr>
          `,
        )}
      </tbody>
    </table>
  `;
}

function Badge({ state }) {
  const [text, kind] = BADGES[state];
  return html`
    <span class=${`badge ${kind}`}>${text}</span>
  `;
}

function Profile({ id, query }) {
  const resource = useResource(
    address(`profiles/${encodeURIComponent(id)}`, { segment: query.segment }),
    1000,
    REPEAT,
  );
  const back = () => go('#/profiles');
  useKeys({ Escape: back });
  return html`
    <div class="view profile">
      <${Loaded}
        resource=${resource}
        way=${html`
          <p><a href="#/profiles">All profiles</a></p>
        `}
      >
        ${task => html`
          <${Content} task=${task} query=${query} onBack=${back} />
        `}
      <//>
    </div>
  `;
}

function Content({ task, query, onBack }) {
  const to = changes => link(['profiles', task.id], { ...query, ...changes });
  return html`
    <header class="trace-top">
      <button type="button" class="plain" onClick=${onBack} aria-label="All profiles (Esc)" title="Back (Esc)">
        <${Icon} name="back" />
      </button>
      <div class="trace-title">
        <h1 dir="auto">${task.endpoint || task.id}</h1>
        <p class="facts">
          ${
            task.service &&
            html`
              <${Service} name=${task.service} />
            `
          }
          <${Badge} state=${task.state} />
          ${
            task.created &&
            html`
              <time>${moment(task.created, false)}</time>
              <span>a look every ${task.period_ms} ms</span>
              <span>${task.samples} requests a process</span>
              <span>for ${task.seconds} s</span>
            `
          }
        </p>
      </div>
    </header>
    <div class="scroll">
      <div class="profile-state">
        <p role="status">${sentence(task)}</p>
        ${
          isOver(task) &&
          html`
            <${ProfileButton} service=${task.service} endpoint=${task.endpoint} text="Profile again" />
          `
        }
      </div>
      <${Requests} task=${task} chosen=${query.segment ?? ''} to=${to} />
      ${
        task.nodes.length > 0 &&
        html`
          <${Flame}
            nodes=${task.nodes}
            leftOut=${task.left_out}
            look=${query}
            onLook=${changes => replace(to(changes))}
          />
        `
      }
    </div>
  `;
}

// all requests together, or one of them
function Requests({ task, chosen, to }) {
  if (task.segments.length === 0) return null;
  const one = task.segments.find(each => each.segment_id === chosen);
  return html`
    <nav class="requests" aria-label="Requests">
      <a class=${`toggle small ${one ? '' : 'on'}`} aria-current=${one ? undefined : 'true'} href=${to({ segment: '', at: '' })}>
        All together
      </a>
      ${task.segments.map(
        each => html`
          <a
            class=${`toggle small ${each === one ? 'on' : ''}`}
            aria-current=${each === one ? 'true' : undefined}
            href=${to({ segment: each.segment_id, at: '' })}
            title=${moment(each.start)}
          >
            ${duration(each.duration)}
          </a>
        `,
      )}
      ${
        one?.trace_id &&
        html`
          <a href=${link(['traces', one.trace_id])}>Open its trace</a>
        `
      }
    </nav>
  `;
}
