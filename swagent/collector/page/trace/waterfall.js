// The spans as a tree beside their bars on one time axis.
import { html, useEffect, useMemo, useRef, useState } from '../frame/view.js';
import { useKeys } from '../frame/keys.js';
import { scrolled, usePlace } from '../frame/places.js';
import { useWide } from '../frame/theme.js';
import { VirtualList } from '../frame/virtual.js';
import { Axis, SpanRow } from './span_row.js';
import { axis, descendants, visible } from './span_tree.js';

export function Waterfall({ trace, chosen, onChoose }) {
  const { spans } = trace;
  const wide = useWide();
  const box = useRef(null);
  const place = usePlace(`trace ${trace.trace_id}`, () => ({ closed, active: activeId, top: scrolled(box) }));
  const [closed, setClosed] = useState(() => place?.closed ?? new Set());
  const below = useMemo(() => descendants(spans), [spans]);
  const shown = useMemo(() => visible(spans, closed), [spans, closed]);
  const [activeId, setActiveId] = useState(chosen?.id ?? place?.active ?? null);
  const active = shown.findIndex(each => each.id === activeId);
  const scale = useMemo(() => axis(trace), [trace]);
  const logged = useMemo(() => new Set(trace.logs.map(each => `${each.segment_id}:${each.span_id}`)), [trace]);

  const above = useMemo(() => new Map(spans.map(each => [each.id, each])), [spans]);

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
      enters=${span.service !== above.get(span.parent)?.service}
      moved=${span.shift !== (above.get(span.parent)?.shift ?? 0)}
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
        top=${place && (!chosen || chosen.id === place.active) ? place.top : 0}
        role="tree"
        label="Spans"
        head=${html`
          <${Axis} scale=${scale} />
        `}
      />
    </div>
  `;
}
