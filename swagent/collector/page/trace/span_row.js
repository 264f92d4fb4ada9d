// One row of a waterfall: a span, or a fold of many, in the tree; and its time.
import { html } from '../frame/view.js';
import { colourClass } from '../parts/colours.js';
import { count, duration, plural, roundDuration } from '../parts/format.js';
import { Icon } from '../parts/icons.js';
import { placed } from '../frame/virtual.js';
import { Bars } from './bars.js';
import { peerOf, summaryOf } from './calls.js';
import { indent, NUMBERED } from './span_tree.js';

export function Axis({ scale }) {
  return html`
    <div class="axis" aria-hidden="true">
      <span class="axis-name">Span</span>
      <span class="axis-time" title="Drag to zoom">
        ${scale.ticks.map(
          tick => html`
            <i style=${{ left: `${tick.at}%` }}>${roundDuration(tick.value)}</i>
          `,
        )}
      </span>
    </div>
  `;
}

/* row: of `rowsOf`; marks: what is known of it beside itself */
export function SpanRow({ row, index, height, scale, deepest, marks, active, chosen, onTurn, onChoose }) {
  const { span, fold, depth, isClosed } = row;
  const failed = fold ? fold.errors > 0 : span.error;
  const classes = [
    ...['span-row', colourClass(span.service)],
    ...(active ? ['active'] : []),
    ...(chosen ? ['chosen'] : []),
    ...(failed ? ['failed'] : []),
    ...(fold ? ['repeated'] : []),
    ...(marks.matches ? ['match'] : []),
    ...(marks.off ? ['off-path'] : []),
  ];
  const opens = fold || marks.below > 0;
  return html`
    <div
      class=${classes.join(' ')}
      role="treeitem"
      tabindex=${active || (index === 0 && !active) ? 0 : -1}
      aria-level=${depth + 1}
      aria-expanded=${opens ? (isClosed ? 'false' : 'true') : undefined}
      aria-selected=${chosen ? 'true' : 'false'}
      style=${placed(index, height)}
      onClick=${onChoose}
      data-span=${fold ? undefined : span.id}
    >
      <span class="span-name" style=${{ paddingLeft: `${indent(depth, deepest) + 4}px` }}>
        ${opens ? html`<${Twist} isClosed=${isClosed} below=${marks.below} onTurn=${onTurn} />` : html`<i class="twist"></i>`}
        <i class="edge" aria-hidden="true"></i>
        ${
          depth > NUMBERED &&
          html`
            <small class="depth" title=${`level ${depth + 1}`}>${depth + 1}</small>
          `
        }
        ${
          failed &&
          html`
            <span class="alarm" title=${fold ? `${count(fold.errors)} failed` : 'failed'}>
              <${Icon} name="warning" size=${14} />
            </span>
          `
        }
        <b dir="auto" title=${span.operation}>${span.operation || '(unnamed)'}</b>
        <${Call} span=${span} />
        ${fold ? html`<${FoldWords} fold=${fold} />` : html`<${Badges} ...${{ span, isClosed, marks }} />`}
      </span>
      <${Bars} span=${span} fold=${fold} scale=${scale} ...${barMarks(marks)} />
      <span class="out-of-sight">, ${moreOf(row, marks)}</span>
    </div>
  `;
}

const barMarks = ({ bands, before, path, hasLogs }) => ({ bands, before, path, hasLogs });

// what is seen is the name of the row, and this is said after it
function moreOf({ span, fold }, marks) {
  if (fold) return fold.isSuspect ? 'in all, perhaps one query for each row' : 'in all';
  const more = [span.error && 'failed', marks.matches && 'found', marks.path && 'on the critical path'];
  return [`${span.kind} in ${span.service}`, ...more].filter(Boolean).join(', ');
}

function Twist({ isClosed, below, onTurn }) {
  return html`
    <button
      type="button"
      class="twist"
      tabindex="-1"
      aria-hidden="true"
      aria-label=${`${isClosed ? 'Expand' : 'Collapse'} ${plural(below, 'span')}`}
      onClick=${event => {
        event.stopPropagation();
        onTurn();
      }}
    >
      <${Icon} name=${isClosed ? 'open' : 'down'} size=${11} />
    </button>
  `;
}

// what is called, and which query it is
function Call({ span }) {
  const [summary, peer] = [summaryOf(span), peerOf(span)];
  return html`
    ${
      summary &&
      html`
        <span class="call" dir="auto" title=${summary}>${summary}</span>
      `
    }
    ${
      peer &&
      html`
        <span class="call peer" dir="auto" title=${`calls ${peer}`}>${peer}</span>
      `
    }
  `;
}

function FoldWords({ fold }) {
  return html`
    <span class="folded">×${count(fold.spans.length)}, ${duration(fold.took)}</span>
    ${
      fold.isSuspect &&
      html`
        <span class="badge warn" title="The same call again and again, one after the other: perhaps one for each row of a result">
          N+1?
        </span>
      `
    }
  `;
}

function Badges({ span, isClosed, marks }) {
  return html`
    ${
      isClosed &&
      html`
        <span class="folded">+${marks.below}</span>
      `
    }
    ${
      marks.enters &&
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
      marks.moved &&
      html`
        <span
          class="badge warn"
          title=${`its clock is ${duration(Math.abs(span.shift))} ${span.shift > 0 ? 'behind' : 'ahead'}: its times are corrected by its caller's span`}
        >
          clocks differ
        </span>
      `
    }
  `;
}
