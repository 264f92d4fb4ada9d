// All traces that match, by their start and their duration: slow and failed ones are easy to see. A box dragged in it asks
// for the differences there.
import { html, useEffect, useRef, useState } from '../frame/view.js';
import { address, useResource } from '../frame/api.js';
import { colour, useTheme } from '../frame/theme.js';
import { axisTimes, watchWidth } from '../parts/axis.js';
import { count, duration, moment, plural } from '../parts/format.js';
import { between, boxOf, cellAt, countIn, durationLabels, limitsOf, place, timesBelow } from './heat_cells.js';

const HEIGHT = 112;
const SIDE = 58; // for the durations
const LABEL_ROOM = 92;
const FAINTEST = 0.68; // as in .heat-ramp
const DEEPEST = 0.5;
const STEPS = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, 1],
  ArrowDown: [0, -1],
};

// `box`: the limits that are chosen, or null; `onBox(limits)`
export function Heatmap({ filters, box, onBox }) {
  const { sort: _, ...asked } = filters;
  const { data } = useResource(address('heatmap', asked), 3000);
  const last = useRef(null);
  if (data) last.current = data; // while another search is under way, the last one stays
  const map = last.current;
  return map?.columns > 0
    ? html`
        <${Drawn} map=${map} box=${box} onBox=${onBox} />
      `
    : html`
        <figure class="heatmap" aria-hidden="true"></figure>
      `;
}

function Drawn({ map, box, onBox }) {
  const frame = useRef(null);
  const [width, setWidth] = useState(0);
  const [pointed, setPointed] = useState(null); // a cell
  const [begun, setBegun] = useState(null); // the cell where a drag, or a box of the keyboard, begins
  useEffect(() => {
    const measure = () => setWidth(Math.max(0, frame.current.clientWidth - SIDE));
    measure();
    return watchWidth(frame.current, measure);
  }, []);
  const cell = event => {
    const edge = event.currentTarget.getBoundingClientRect();
    return cellAt(map, event.clientX - edge.left, event.clientY - edge.top, width, HEIGHT);
  };
  const drag = {
    onPointerDown: event => {
      if (event.button !== 0) return;
      event.currentTarget.setPointerCapture(event.pointerId);
      setBegun(cell(event));
      setPointed(cell(event));
    },
    onPointerMove: event => setPointed(cell(event)),
    onPointerUp: event => {
      if (begun) choose(between(begun, cell(event)));
    },
    onPointerCancel: () => setBegun(null),
    onPointerLeave: () => {
      if (!begun) setPointed(null);
    },
  };
  const choose = chosen => {
    setBegun(null);
    setPointed(null);
    if (countIn(map, chosen).all > 0) onBox(limitsOf(map, chosen));
  };
  const press = event => {
    const step = STEPS[event.key];
    if (step) {
      const from = pointed ?? slowest(map);
      const next = pointed ? moved(map, from, step) : from;
      setBegun(event.shiftKey ? (begun ?? from) : null);
      setPointed(next);
    } else if (event.key === 'Enter' && pointed) choose(between(begun ?? pointed, pointed));
    else if (event.key === 'Escape' && pointed) {
      setPointed(null);
      setBegun(null);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const drawn = pointed ? between(begun ?? pointed, pointed) : null;
  const chosen = box && boxOf(map, box);
  return html`
    <figure class="heatmap" ref=${frame}>
      <figcaption class="heat-legend">
        <span>Duration by start</span>
        <span class="heat-key"><i class="heat-ramp" aria-hidden="true"></i>${traces(most(map))}</span>
        <span class="heat-key"><i class="heat-failed" aria-hidden="true"></i>failed</span>
        <span class="heat-hint">Drag a box to see what differs in it</span>
      </figcaption>
      <div
        class="heat-plot"
        tabindex="0"
        role="application"
        aria-label=${`Heatmap of ${plural(map.total, 'trace')} by start and duration. Arrow keys move, Shift and arrow keys choose a box, Enter asks what differs in it.`}
        onKeyDown=${press}
        onBlur=${() => setPointed(null)}
        style=${{ width: `${width}px`, height: `${HEIGHT}px` }}
        ...${drag}
      >
        <${Cells} map=${map} width=${width} />
        ${chosen && html`<i class="heat-box chosen" style=${pixels(place(map, chosen, width, HEIGHT))}></i>`}
        ${drawn && html`<i class="heat-box" style=${pixels(place(map, drawn, width, HEIGHT))}></i>`}
      </div>
      <div class="heat-durations" aria-hidden="true">
        ${durationLabels(map, HEIGHT).map(([text, y]) => html`<span style=${{ top: `${y}px` }}>${text}</span>`)}
      </div>
      <${Times} map=${map} width=${width} />
      <p class="heat-tip" role="status">${drawn && describe(map, drawn)}</p>
    </figure>
  `;
}

function Times({ map, width }) {
  const times = timesBelow(map, width, LABEL_ROOM);
  const texts = axisTimes(times.map(([time]) => time / 1000));
  return html`
    <div class="heat-times" aria-hidden="true">
      ${times.map(([, x], index) => x <= width - 20 && html`<span style=${{ left: `${SIDE + x}px` }}>${texts[index]}</span>`)}
    </div>
  `;
}

function Cells({ map, width }) {
  const canvas = useRef(null);
  const theme = useTheme();
  useEffect(() => {
    if (width > 0) draw(canvas.current, map, width);
  }, [map, width, theme]);
  return html`
    <canvas ref=${canvas} aria-hidden="true"></canvas>
  `;
}

function draw(canvas, map, width) {
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(HEIGHT * scale);
  Object.assign(canvas.style, { width: `${width}px`, height: `${HEIGHT}px` });
  const pen = canvas.getContext('2d');
  pen.scale(scale, scale);
  const [line, fill, ink, error] = ['--line', '--accent', '--ink', '--error'].map(colour);
  pen.fillStyle = line;
  for (const [, y] of durationLabels(map, HEIGHT)) pen.fillRect(0, Math.round(y), width, 1);
  const full = most(map);
  for (const [column, row, all, failed] of map.cells) {
    const at = place(map, { column, toColumn: column, row, toRow: row }, width, HEIGHT);
    const gap = at.width > 5 ? 1 : 0.4;
    const size = [Math.max(1.5, at.width - gap), Math.max(2, at.height - 1)];
    // even one trace is seen, at three times the ground's contrast; many are darker than the colour itself
    const share = Math.sqrt(all / full);
    for (const [alpha, style] of [[FAINTEST + (1 - FAINTEST) * share, fill], [DEEPEST * share, ink]]) {
      pen.globalAlpha = alpha;
      pen.fillStyle = style;
      pen.fillRect(at.left, at.top, ...size);
    }
    if (!failed) continue;
    // the failed ones are a part at the right, in full colour
    const part = Math.max(Math.min(4, size[0] * 0.35), size[0] * (failed / all));
    pen.globalAlpha = 1;
    pen.fillStyle = error;
    pen.fillRect(at.left + size[0] - part, at.top, part, size[1]);
  }
}

const pixels = at => Object.fromEntries(Object.entries(at).map(([name, value]) => [name, `${value}px`]));
const traces = most => (most > 1 ? `1 to ${count(most)} traces` : '1 trace');
const most = map => map.cells.reduce((found, [, , all]) => Math.max(found, all), 1);

// where the keyboard begins: the slowest cell
function slowest(map) {
  const [column, row] = map.cells.reduce((best, each) => (each[1] >= best[1] ? each : best));
  return { column, row };
}

function moved(map, { column, row }, [right, up]) {
  return {
    column: Math.min(map.columns - 1, Math.max(0, column + right)),
    row: Math.min(map.edges.length - 2, Math.max(0, row + up)),
  };
}

export function describe(map, box) {
  const limits = limitsOf(map, box);
  const { all, failed } = countIn(map, box);
  const errors = failed ? `, ${count(failed)} failed` : '';
  return `${plural(all, 'trace')}${errors} · ${spanText(limits)}`;
}

export const spanText = ({ from, to, min_ms: least, max_ms: longest }) =>
  `${duration(least)} to ${duration(longest)} · ${moment(from, false)} – ${moment(to + 1, false).split(', ').at(-1)}`;
