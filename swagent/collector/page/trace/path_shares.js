// The largest shares of the critical path, by operation.
import { html } from '../frame/view.js';
import { colourClass } from '../parts/colours.js';
import { duration, percent } from '../parts/format.js';

const SHOWN = 6;

export function PathShares({ shares, onChoose }) {
  const rest = shares.slice(SHOWN).reduce((sum, each) => sum + each.share, 0);
  return html`
    <section class="path-shares" aria-label="Critical path">
      <h2>Critical path</h2>
      <ol>
        ${shares.slice(0, SHOWN).map(
          each => html`
            <li class=${colourClass(each.span.service)}>
              <button type="button" onClick=${() => onChoose(each.span)} title=${`${duration(each.ms)} in ${each.span.service}: to the longest piece`}>
                <b>${percent(each.share)}</b>
                <i class="dot" aria-hidden="true"></i>
                <span dir="auto">${each.span.operation || '(unnamed)'}</span>
                ${
                  each.span.kind !== 'exit' &&
                  html`
                    <span class="quiet">itself</span>
                  `
                }
                ${
                  each.count > 1 &&
                  html`
                    <span class="quiet">×${each.count}</span>
                  `
                }
              </button>
            </li>
          `,
        )}
        ${
          rest > 0.0005 &&
          html`
            <li class="quiet">${percent(rest)} others</li>
          `
        }
      </ol>
    </section>
  `;
}
