// The fate of every record of one process, as its agent counts: where some got lost, why, and what to change.
import { html } from '../frame/view.js';
import { count } from '../parts/format.js';
import { reasonOf } from './loss_reasons.js';

const PARTS = [
  ['confirmed', 'confirmed'],
  ['queued', 'queued'],
  ['in_flight', 'in flight'],
  ['spilled', 'on disk'],
  ['dropped', 'dropped'],
  ['refused', 'refused'],
];

export const sum = counts => Object.values(counts).reduce((total, each) => total + each, 0);
export const lostOf = signal => sum(signal.dropped) + sum(signal.refused);

export function Reason({ kind, reason, signal, number }) {
  const { text, settings, hint } = reasonOf(kind, reason, signal);
  return html`
    <p class="reason">
      <b class="number">${count(number)}</b> ${kind}: <code>${reason}</code>${' '}
      <span class="quiet">${text}${text ? '.' : ''}</span>${' '}
      ${settings.map(
        ([words, name]) => html`
          <span class="setting">${words} <code>${name}</code></span>${' '}
        `,
      )}
      ${hint}
    </p>
  `;
}

export function Signal({ signal }) {
  const parts = { ...signal, refused: sum(signal.refused), dropped: sum(signal.dropped) };
  const whole = Math.max(1, signal.offered);
  const shown = PARTS.filter(([name]) => parts[name] > 0);
  const text = shown.map(([name, label]) => `${count(parts[name])} ${label}`).join(', ') || 'nothing yet';
  return html`
    <div class="signal" role="group" aria-label=${signal.signal}>
      <header>
        <h3>${signal.signal}</h3>
        <span class="number">
          ${count(signal.offered)} offered${signal.recovered > 0 ? `, of these ${count(signal.recovered)} found on disk at the start` : ''}
        </span>
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
              <${Reason} kind=${kind} reason=${reason} signal=${signal.signal} number=${number} />
            `,
          ),
      )}
    </div>
  `;
}
