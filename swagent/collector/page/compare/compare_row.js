// A span of two traces, side by side.
import { html } from '../frame/view.js';
import { colourClass } from '../parts/colours.js';
import { Icon } from '../parts/icons.js';
import { duration } from '../parts/format.js';
import { link } from '../frame/route.js';
import { placed } from '../frame/virtual.js';
import { took } from './match.js';

const DEEPEST = 14;
const SIGNIFICANT = 0.02; // of the longest span: less than that has no colour

export function difference(by) {
  if (by === 0) return 'same';
  return `${by > 0 ? '+' : '−'}${duration(Math.abs(by))}`;
}

export function Head() {
  return html`
    <div class="pair-head" aria-hidden="true">
      <span>Span</span>
      <span class="number">A</span>
      <span class="number">B</span>
      <span class="number">Difference</span>
      <span>A above B</span>
    </div>
  `;
}

/* most: the longest span of both traces; ids: of the traces */
export function Row({ row, index, height, active, most, ids, onChoose }) {
  const { a, b, depth } = row;
  const span = b ?? a;
  const only = a === null ? 'only in B' : b === null ? 'only in A' : '';
  const by = took(b) - took(a);
  const share = value => ({ width: `${(value / most) * 100}%` });
  return html`
    <div
      role="listitem"
      class=${`pair-row ${colourClass(span.service)} ${active ? 'active' : ''} ${only.replaceAll(' ', '-')}`}
      style=${placed(index, height)}
      tabindex="-1"
      onClick=${onChoose}
    >
      <span class="pair-name">
        <i class="indent" aria-hidden="true" style=${{ width: `${Math.min(depth, DEEPEST) * 14}px` }}></i>
        <i class="edge" aria-hidden="true"></i>
        ${
          (a?.error || b?.error) &&
          html`
            <span class="alarm" title=${failed(a, b)}>
              <${Icon} name="warning" size=${13} />
              <span class="out-of-sight">${failed(a, b)}</span>
            </span>
          `
        }
        <b dir="auto" title=${span.operation}>${span.operation || '(unnamed)'}</b>
        ${
          only &&
          html`
            <span class="badge only">${only}</span>
          `
        }
        <span class="span-service" title=${span.service}>${span.service}</span>
      </span>
      <span class="number pair-a"><${Took} span=${a} trace=${ids[0]} name="A" /></span>
      <span class="number pair-b"><${Took} span=${b} trace=${ids[1]} name="B" /></span>
      <span class=${`number pair-by ${Math.abs(by) < most * SIGNIFICANT ? '' : by > 0 ? 'slower' : 'faster'}`}>
        ${difference(by)}
      </span>
      <span class="pair-bars" aria-hidden="true">
        ${
          a &&
          html`
            <i class="pair-bar one" style=${share(took(a))}></i>
          `
        }
        ${
          b &&
          html`
            <i class="pair-bar other" style=${share(took(b))}></i>
          `
        }
      </span>
    </div>
  `;
}

function Took({ span, trace, name }) {
  return span === null
    ? html`
        <span class="none">–</span>
      `
    : html`
        <a href=${link(['traces', trace], { span: span.id })} title=${`This span in ${name}`}>${duration(took(span))}</a>
      `;
}

function failed(a, b) {
  if (a?.error && b?.error) return 'failed in both';
  return a?.error ? 'failed in A' : 'failed in B';
}
