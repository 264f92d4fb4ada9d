// The spans as a tree beside their bars on one time axis.
import { html, useEffect, useMemo, useRef } from '../frame/view.js';
import { isOn, stepKeys, useKeys } from '../frame/keys.js';
import { scrolled, usePlace } from '../frame/places.js';
import { useWide } from '../frame/theme.js';
import { VirtualList } from '../frame/virtual.js';
import { criticalPath, headOf, pathShares, piecesBySpan } from './critical_path.js';
import { errorsDeepestFirst, following, followingPlace, matching } from './finding.js';
import { bandsOf, instanceOf } from './loop_blocks.js';
import { Minimap } from './minimap.js';
import { Splitter, useNameColumn } from './name_column.js';
import { PathShares } from './path_shares.js';
import { Axis, SpanRow } from './span_row.js';
import { axis, parseWindow, rangeOf, requestWindow } from './time_axis.js';
import { Tools } from './tools.js';
import { useTree } from './tree_state.js';
import { useZoomDrag, zoomKeys } from './zooming.js';

const NONE = [];
const ALL = 'all'; // in the address, where a part is seen first
const MAPPED = 20; // spans from which on a map of them helps

/* query: of the address, which change(changes) changes; neighbours: spans of other traces that held the loop,
   or waited; waits: of the spans that waited for it */
export function Waterfall({ trace, chosen, onChoose, query, change, neighbours, waits }) {
  const { spans } = trace;
  const wide = useWide();
  const box = useRef(null);
  const place = usePlace(`trace ${trace.trace_id}`, () => ({ ...tree.open, active: tree.activeId, top: scrolled(box) }));
  const tree = useTree(spans, chosen, place, query.only === 'errors');
  const { rows, active } = tree;
  const range = useMemo(() => rangeOf(trace, waits), [trace, waits]);
  const first = useMemo(() => requestWindow(trace, range), [trace, range]);
  const shown = query.zoom ? parseWindow(query.zoom, range.length) : first;
  const scale = useMemo(() => axis(range, shown), [range, query.zoom, first]);
  const zoom = text => change({ zoom: text || (first ? ALL : '') });
  const drag = useZoomDrag(box, scale, zoom);
  const [nameWidth, setNameWidth] = useNameColumn();
  const known = useKnown(trace, query, neighbours, waits);
  const found = useMemo(
    () => known.found.filter(each => !tree.only || tree.only.has(each.id)),
    [known.found, tree.only],
  );
  const errors = useMemo(() => errorsDeepestFirst(spans), [spans]);

  const open = span => {
    tree.reveal(span);
    onChoose(span);
  };
  const toFound = by => {
    const next = followingPlace(found, spans, tree.activeId, by);
    if (!next) return;
    tree.reveal(next);
    if (chosen && wide) onChoose(next);
  };
  const nextError = () => {
    const next = following(errors, tree.activeId);
    if (next) open(next);
  };
  useTreeKeys({ tree, chosen: chosen && wide, onChoose });
  const keys = zoomKeys(scale, centreOf(rows[active]?.span, scale), zoom);
  useKeys({
    ...keys,
    ArrowLeft: event => event.shiftKey && keys.left(),
    ArrowRight: event => event.shiftKey && keys.right(),
    e: () => errors.length > 0 && nextError(),
    n: () => found.length > 0 && toFound(1),
    N: () => found.length > 0 && toFound(-1),
    c: () => change({ path: query.path === '1' ? '' : '1' }),
  });
  useEffect(() => {
    const typing = document.activeElement?.matches?.('input');
    if (!typing) box.current.querySelector('.span-row.active')?.focus({ preventScroll: true });
  }, [active]);
  useEffect(() => {
    if (chosen && !rows.some(each => each.id === chosen.id && !each.fold)) tree.reveal(chosen);
  }, [chosen?.id]);

  const deepest = useMemo(() => rows.reduce((most, each) => Math.max(most, each.depth), 0), [rows]);
  const height = wide ? 32 : 46;
  const row = (each, index) => html`
    <${SpanRow}
      key=${each.id}
      row=${each}
      index=${index}
      ...${{ height, scale, deepest }}
      marks=${known.marks(each, tree.below)}
      active=${index === active}
      chosen=${!each.fold && each.span.id === chosen?.id}
      onTurn=${() => tree.turn(each, !each.isClosed)}
      onChoose=${() => {
        tree.setActiveId(each.id);
        if (each.fold) tree.turn(each, !each.isClosed);
        else onChoose(each.span.id === chosen?.id ? null : each.span);
      }}
    />
  `;
  return html`
    <div class="waterfall-side">
      <${Tools}
        ...${{ query, change, errors: errors.length, window: scale.window }}
        found=${found.length}
        place=${found.findIndex(each => each.id === tree.activeId)}
        step=${toFound}
        leave=${() => zoom('')}
      />
      ${known.shares && html`<${PathShares} shares=${known.shares} onChoose=${open} />`}
      <div class="waterfall" ref=${box} style=${nameWidth ? { '--name': `${nameWidth}%` } : {}} ...${drag.handlers}>
        ${
          (spans.length >= MAPPED || scale.window) &&
          html`
            <${Minimap} spans=${spans} range=${range} window=${scale.window} onZoom=${zoom} />
          `
        }
        <${VirtualList}
          items=${rows}
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
        ${wide && html`<${Splitter} box=${box} width=${nameWidth} onChange=${setNameWidth} />`}
        ${drag.overlay}
      </div>
    </div>
  `;
}

const centreOf = (span, { from }) => (span ? (span.start + span.end) / 2 - from : undefined);

function useTreeKeys({ tree, chosen, onChoose }) {
  const { rows, active } = tree;
  const step = by => {
    const next = rows[active < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, active + by))];
    if (!next) return;
    tree.setActiveId(next.id);
    if (chosen && !next.fold) onChoose(next.span); // the details follow the keys
  };
  const collapse = () => {
    const row = rows[active];
    if (!row) return;
    const opens = row.fold || tree.below.get(row.id);
    if (opens && !row.isClosed) {
      tree.turn(row, true);
      return;
    }
    const above = rows.slice(0, active).findLast(each => each.depth < row.depth);
    if (above) tree.setActiveId(above.id);
  };
  const expand = () => {
    if (rows[active]) tree.turn(rows[active], false);
  };
  useKeys({
    ...stepKeys(step),
    h: collapse,
    l: expand,
    ArrowLeft: collapse,
    ArrowRight: expand,
    Enter: event => {
      if (isOn(event, 'button, a, summary')) return false;
      const row = rows[active];
      if (row?.fold) tree.turn(row, !row.isClosed);
      else if (row) onChoose(row.span);
      return true;
    },
  });
}

// facts about the rows that the rows do not hold themselves
function useKnown(trace, query, neighbours, waits) {
  const { spans, logs } = trace;
  const above = useMemo(() => new Map(spans.map(each => [each.id, each])), [spans]);
  const logged = useMemo(() => new Set(logs.map(each => `${each.segment_id}:${each.span_id}`)), [logs]);
  const bands = useMemo(() => bandsOf(spans, neighbours), [spans, neighbours]);
  const found = useMemo(() => matching(spans, query.find ?? ''), [spans, query.find]);
  const matches = useMemo(() => new Set(found.map(each => each.id)), [found]);
  const isPath = query.path === '1';
  const path = useMemo(() => (isPath ? criticalPath(spans, headOf(trace)) : NONE), [trace, isPath]);
  const shares = useMemo(() => (isPath ? pathShares(path) : null), [path]);
  const bySpan = useMemo(() => piecesBySpan(path), [path]);
  const marks = ({ span, fold }, below) => {
    const parent = above.get(span.parent);
    const pieces = fold ? fold.spans.flatMap(each => bySpan.get(each.id) ?? NONE) : (bySpan.get(span.id) ?? NONE);
    return {
      enters: span.service !== parent?.service,
      moved: span.shift !== (parent?.shift ?? 0),
      below: fold ? fold.spans.length : (below.get(span.id) ?? 0),
      bands: bands.get(instanceOf(span)) ?? NONE,
      matches: fold ? fold.spans.some(each => matches.has(each.id)) : matches.has(span.id),
      before: fold ? 0 : (waits.get(span.id)?.before ?? 0),
      hasLogs: !fold && logged.has(span.id),
      path: pieces.length > 0 ? pieces : null,
      off: isPath && pieces.length === 0,
    };
  };
  return { marks, found, shares };
}
