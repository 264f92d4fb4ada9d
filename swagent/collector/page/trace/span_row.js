// One span of a waterfall: its name in the tree, and its bar.
import { html } from '../frame/view.js';
import { colourClass } from '../parts/colours.js';
import { duration, plural, roundDuration } from '../parts/format.js';
import { Icon } from '../parts/icons.js';
import { placed } from '../frame/virtual.js';

export function Axis({ scale }) {
  return html`
    <div class="axis" aria-hidden="true">
      <span class="axis-name">Span</span>
      <span class="axis-time">
        ${scale.ticks.map(
          tick => html`
            <i style=${{ left: `${tick.at}%` }}>${roundDuration(tick.value)}</i>
          `,
        )}
      </span>
    </div>
  `;
}

export function SpanRow({
  span,
  index,
  height,
  scale,
  enters,
  moved,
  below,
  closed,
  active,
  chosen,
  logs,
  onTurn,
  onChoose,
}) {
  const took = span.end - span.start;
  const left = scale.at(span.start);
  const width = Math.max(0.25, scale.at(span.end) - left);
  const label = `${span.operation || 'unnamed'}, ${span.kind} in ${span.service}, ${duration(took)}${span.error ? ', failed' : ''}`;
  return html`
    <div
      class=${`span-row ${colourClass(span.service)} ${active ? 'active' : ''} ${chosen ? 'chosen' : ''} ${span.error ? 'failed' : ''}`}
      role="treeitem"
      tabindex=${active || (index === 0 && !active) ? 0 : -1}
      aria-level=${span.depth + 1}
      aria-expanded=${below ? (closed ? 'false' : 'true') : undefined}
      aria-selected=${chosen ? 'true' : 'false'}
      aria-label=${label}
      style=${placed(index, height)}
      onClick=${onChoose}
      data-span=${span.id}
    >
      <span class="span-name" style=${{ paddingLeft: `${Math.min(span.depth, 14) * 14 + 4}px` }}>
        ${
          below > 0
            ? html`
                <button
                  type="button"
                  class="twist"
                  tabindex="-1"
                  aria-label=${`${closed ? 'Expand' : 'Collapse'} ${plural(below, 'span')}`}
                  onClick=${event => {
                    event.stopPropagation();
                    onTurn();
                  }}
                >
                  <${Icon} name=${closed ? 'open' : 'down'} size=${11} />
                </button>
              `
            : html`
                <i class="twist"></i>
              `
        }
        <i class="edge" aria-hidden="true"></i>
        ${
          span.error &&
          html`
            <span class="alarm" title="failed"><${Icon} name="warning" size=${14} /></span>
          `
        }
        <b dir="auto" title=${span.operation}>${span.operation || '(unnamed)'}</b>
        ${
          closed &&
          html`
            <span class="folded">+${below}</span>
          `
        }
        ${
          enters &&
          html`
            <span class="span-service" title=${span.service}>${span.service}</span>
          `
        }
        ${
          span.missing_parent &&
          html`
            <span class="badge" title="the span above this one has not arrived">parent missing</span>
          `
        }
        ${
          moved &&
          html`
            <span
              class="badge warn"
              title=${`its clock is ${duration(Math.abs(span.shift))} ${span.shift > 0 ? 'behind' : 'ahead'}: its times are corrected by its caller's span`}
            >
              clocks differ
            </span>
          `
        }
      </span>
      <span class="span-time">
        ${scale.ticks.map(
          tick => html`
            <i class="grid" style=${{ left: `${tick.at}%` }}></i>
          `,
        )}
        <i class=${`bar ${span.kind}`} style=${{ left: `${left}%`, width: `${width}%` }}></i>
        ${span.logs.map(
          log => html`
            <i class="moment" style=${{ left: `${scale.at(log.time)}%` }}></i>
          `,
        )}
        <span class="bar-text" style=${{ left: `${left + width}%` }}>
          ${duration(took)}${
            logs
              ? html`
                  <${Icon} name="logs" size=${12} />
                `
              : ''
          }
        </span>
      </span>
    </div>
  `;
}
