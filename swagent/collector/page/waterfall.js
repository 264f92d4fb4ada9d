// The spans as a tree beside their bars on one time axis.
import { html, useEffect, useMemo, useRef, useState } from './view.js';
import { colourClass } from './colours.js';
import { duration, plural } from './format.js';
import { Icon } from './icons.js';
import { useKeys } from './keys.js';
import { useWide } from './theme.js';
import { VirtualList, placed } from './virtual.js';

export function Waterfall({ trace, chosen, onChoose }) {
  const { spans } = trace;
  const wide = useWide();
  const [closed, setClosed] = useState(() => new Set());
  const below = useMemo(() => descendants(spans), [spans]);
  const shown = useMemo(() => visible(spans, closed), [spans, closed]);
  const [activeId, setActiveId] = useState(chosen?.id ?? null);
  const active = shown.findIndex(each => each.id === activeId);
  const box = useRef(null);
  const scale = useMemo(() => axis(trace), [trace]);
  const logged = useMemo(() => new Set(trace.logs.map(each => `${each.segment_id}:${each.span_id}`)), [trace]);

  const services = useMemo(() => new Map(spans.map(each => [each.id, each.service])), [spans]);

  const turn = (span, close) =>
    setClosed(old => {
      const next = new Set(old);
      if (close) next.add(span.id);
      else next.delete(span.id);
      return next;
    });
  const step = by => {
    const next = shown[active < 0 ? 0 : Math.min(shown.length - 1, Math.max(0, active + by))];
    if (!next) return;
    setActiveId(next.id);
    if (chosen && wide) onChoose(next); // the details follow the keys
  };
  const collapse = () => {
    const span = shown[active];
    if (!span) return;
    if (below.get(span.id) && !closed.has(span.id)) turn(span, true);
    else if (span.parent) setActiveId(span.parent);
  };
  const expand = () => {
    if (shown[active]) turn(shown[active], false);
  };
  useKeys({
    j: () => step(1),
    k: () => step(-1),
    ArrowDown: () => step(1),
    ArrowUp: () => step(-1),
    h: collapse,
    l: expand,
    ArrowLeft: collapse,
    ArrowRight: expand,
    Enter: event => {
      if (event.target instanceof HTMLElement && event.target.closest('button, a')) return false;
      if (shown[active]) onChoose(shown[active]);
      return true;
    },
  });
  useEffect(() => {
    box.current.querySelector('.span-row.active')?.focus({ preventScroll: true });
  }, [active]);

  const height = wide ? 32 : 46;
  const row = (span, index) => html`
    <${SpanRow}
      key=${span.id}
      span=${span}
      index=${index}
      height=${height}
      scale=${scale}
      enters=${span.service !== services.get(span.parent)}
      below=${below.get(span.id) ?? 0}
      closed=${closed.has(span.id)}
      active=${index === active}
      chosen=${span.id === chosen?.id}
      logs=${logged.has(span.id)}
      onTurn=${() => turn(span, !closed.has(span.id))}
      onChoose=${() => {
        setActiveId(span.id);
        onChoose(span.id === chosen?.id ? null : span);
      }}
    />
  `;
  return html`
    <div class="waterfall" ref=${box}>
      <${VirtualList}
        items=${shown}
        rowHeight=${height}
        row=${row}
        active=${active}
        role="tree"
        label="Spans"
        head=${html`
          <${Axis} scale=${scale} />
        `}
      />
    </div>
  `;
}

function Axis({ scale }) {
  return html`
    <div class="axis" aria-hidden="true">
      <span class="axis-name">Span</span>
      <span class="axis-time">
        ${scale.ticks.map(
          tick => html`
            <i style=${{ left: `${tick.at}%` }}>${duration(tick.value)}</i>
          `,
        )}
      </span>
    </div>
  `;
}

function SpanRow({ span, index, height, scale, enters, below, closed, active, chosen, logs, onTurn, onChoose }) {
  const took = span.end - span.start;
  const left = scale.at(span.start);
  const width = Math.max(0.25, scale.at(span.end) - left);
  const beside = left + width <= 82 ? 'after' : left >= 16 ? 'before' : 'within';
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
        <b title=${span.operation}>${span.operation || '(unnamed)'}</b>
        ${
          closed &&
          html`
            <span class="folded">+${below}</span>
          `
        }
        ${
          enters &&
          html`
            <span class="span-service">${span.service}</span>
          `
        }
        ${
          span.missing_parent &&
          html`
            <span class="badge" title="the span above this one has not arrived">parent missing</span>
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
        <span class=${`bar-text ${beside} ${span.kind}`} style=${textPlace(beside, left, width)}>
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

function textPlace(beside, left, width) {
  if (beside === 'after') return { left: `${left + width}%` };
  return beside === 'before' ? { right: `${100 - left}%` } : { right: `${100 - left - width}%` };
}

// round ticks: 1, 2 or 5 of something, at most six
function axis(trace) {
  const from = Math.min(trace.start, ...trace.spans.map(each => each.start));
  const whole = Math.max(1, trace.duration, ...trace.spans.map(each => each.end - from));
  const at = time => Math.min(100, Math.max(0, ((time - from) / whole) * 100));
  const raw = whole / 5;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map(each => each * power).find(each => each >= raw);
  const ticks = [];
  for (let value = 0; value <= whole * 0.93; value += step) ticks.push({ value, at: (value / whole) * 100 });
  return { at, ticks };
}

function visible(spans, closed) {
  if (closed.size === 0) return spans;
  const hidden = new Set();
  return spans.filter(span => {
    if (!closed.has(span.parent) && !hidden.has(span.parent)) return true;
    hidden.add(span.id);
    return false;
  });
}

function descendants(spans) {
  const totals = new Map();
  // parents come first, so from the end every child is counted before its parent
  for (let index = spans.length - 1; index >= 0; index -= 1) {
    const { id, parent } = spans[index];
    if (parent) totals.set(parent, (totals.get(parent) ?? 0) + 1 + (totals.get(id) ?? 0));
  }
  return totals;
}
