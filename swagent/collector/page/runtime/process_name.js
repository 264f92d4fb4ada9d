// How a process is called, and how it is: for people.
import { html } from '../frame/view.js';

export const STATES = {
  alive: 'It was heard from within the last minute',
  silent: 'It was not heard from for more than a minute, and did not say that it stops',
  stopped: 'It said that it stops',
};

export const nameOf = ({ host, pid, instance }) =>
  host || pid ? [host, pid && `pid ${pid}`].filter(Boolean).join(' · ') : instance;

export function State({ state }) {
  return html`
    <span class=${`process-state ${state}`} title=${STATES[state]}>
      <i aria-hidden="true"></i>
      ${state}
    </span>
  `;
}
