// The cells beside a span's name: its time on the axis, and what is known of it.
import { html } from '../frame/view.js';
import { duration } from '../parts/format.js';
import { Icon } from '../parts/icons.js';
import { union } from './intervals.js';
import { millisOf, WAITED } from './loop_blocks.js';

const LEAST = 0.25; // percent that a bar is wide
const GAP = 0.3; // percent between pieces that are still seen apart

const place = (scale, { start, end }, least = 0) => {
  const left = scale.at(start);
  return { left, width: Math.max(least, scale.at(end) - left) };
};

const style = ({ left, width }) => ({ left: `${left}%`, width: `${width}%` });

// many short times as few pieces: what is closer than one can see is one
function pieces(times, scale) {
  const found = [];
  for (const time of union(times)) {
    if (scale.side(time)) continue;
    const { left, width } = place(scale, time, LEAST);
    const last = found.at(-1);
    if (last && left - (last.left + last.width) < GAP) last.width = Math.max(last.width, left + width - last.left);
    else found.push({ left, width });
  }
  return found;
}

/* scale: the axis; bands: when the loop of its process was blocked; before: milliseconds that it waited for that before
   its span; path: its pieces of the critical path, or nothing */
export function Bars({ span, fold, scale, bands, before, path, hasLogs }) {
  const time = fold ?? span;
  const side = scale.side(time);
  const { left, width } = place(scale, time, LEAST);
  return html`
    <span class="span-time">
      ${scale.ticks.map(
        tick => html`
          <i class="grid" style=${{ left: `${tick.at}%` }}></i>
        `,
      )}
      ${pieces(bands, scale).map(
        each => html`
          <i class="blocked-band" style=${style(each)}></i>
        `,
      )}
      ${before > 0 && html`<${Before} ...${{ span, scale, before }} />`}
      ${!side && (fold ? html`<${FoldBar} fold=${fold} scale=${scale} />` : html`<${SpanBar} ...${{ span, scale, bands, left, width }} />`)}
      ${
        path &&
        pieces(path, scale).map(
          each => html`
            <i class="on-path" style=${style(each)}></i>
          `,
        )
      }
      <span class=${`bar-text ${side}`} style=${{ left: side === 'before' ? '0' : `${left + (side ? 0 : width)}%` }}>
        ${side === 'before' && '‹ '}${duration(fold ? fold.took : span.end - span.start)}${side === 'after' && ' ›'}${
          hasLogs
            ? html`
                <${Icon} name="logs" size=${12} />
              `
            : ''
        }
      </span>
    </span>
  `;
}

// it came in while the loop was held: the server's socket had it until its span began
function Before({ span, scale, before }) {
  const time = { start: span.start - before, end: span.start };
  return (
    !scale.side(time) &&
    html`
      <i
        class="not-scheduled before"
        title=${`in the server's socket for ${duration(before)}: another task held the loop`}
        style=${style(place(scale, time, LEAST))}
      ></i>
    `
  );
}

function SpanBar({ span, scale, bands, left, width }) {
  const waited = millisOf(span, WAITED) > 0;
  const within = each => ({ start: Math.max(each.start, span.start), end: Math.min(each.end, span.end) });
  return html`
    <i class=${`bar ${span.kind}`} style=${style({ left, width })}></i>
    ${
      waited &&
      pieces(bands.map(within).filter(each => each.end > each.start), scale).map(
        each => html`
          <i class="not-scheduled" title="ready, not scheduled: another task held the loop" style=${style(each)}></i>
        `,
      )
    }
    ${bands
      .filter(each => each.span.id === span.id && !scale.side(each))
      .map(
        each => html`
          <i class="held" title=${`held the loop for ${duration(each.took)}`} style=${style(place(scale, each, LEAST))}></i>
        `,
      )}
    ${span.logs
      .filter(log => !scale.side({ start: log.time, end: log.time }))
      .map(
        log => html`
          <i class="moment" style=${{ left: `${scale.at(log.time)}%` }}></i>
        `,
      )}
  `;
}

function FoldBar({ fold, scale }) {
  return pieces(fold.spans, scale).map(
    each => html`
      <i class=${`bar ${fold.kind}`} style=${style(each)}></i>
    `,
  );
}
