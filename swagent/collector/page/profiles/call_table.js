// The same calls as text: for who reads better than looks, by eye or by ear.
import { html, useMemo } from '../frame/view.js';
import { count, duration, plural } from '../parts/format.js';
import { flat, own, sizeOf } from './flame_layout.js';

const LEAST = 0.005; // of the whole: shorter calls are left out
const MOST_INDENT = 24;

export function CallTable({ roots, all }) {
  const total = sizeOf(own(roots));
  const calls = useMemo(() => flat(roots), [roots]);
  const shown = all ? calls : calls.filter(each => each.size >= total * LEAST);
  return html`
    <div class="call-table" tabindex="0" role="region" aria-label="Calls as a table">
      <table>
        <thead>
          <tr>
            <th scope="col">Call</th>
            <th scope="col" class="number">Time</th>
            <th scope="col" class="number">Share</th>
            <th scope="col" class="number stacks">Stacks</th>
          </tr>
        </thead>
        <tbody>
          ${shown.map(
            each => html`
              <tr key=${each.key} class=${each.state ? `state-row` : each.library ? 'library-row' : ''}>
                <th scope="row" style=${{ paddingLeft: `${Math.min(each.depth, MOST_INDENT) * 12}px` }}>
                  <span class="out-of-sight">Level ${each.depth + 1}: </span>
                  ${
                    each.state &&
                    html`
                      <i class=${`swatch in-${each.state}`} aria-hidden="true"></i>
                    `
                  }
                  <span dir="auto">${each.name}</span>
                </th>
                <td class="number">${duration(each.ms)}</td>
                <td class="number">${Math.round((each.size / Math.max(1, total)) * 100)} %</td>
                <td class="number stacks">${count(each.count)}</td>
              </tr>
            `,
          )}
        </tbody>
      </table>
      ${
        shown.length < calls.length &&
        html`
          <p class="quiet">${plural(calls.length - shown.length, 'call')} under 0.5 % left out.</p>
        `
      }
    </div>
  `;
}
