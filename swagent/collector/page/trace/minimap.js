// All of a trace in a strip: every span as a line, what failed in red, and which part the axis shows.
import { html, useEffect, useRef } from '../frame/view.js';
import { colourClass } from '../parts/colours.js';
import { roundDuration } from '../parts/format.js';
import { colour, useTheme } from '../frame/theme.js';
import { axis, formatWindow, panned, windowOf } from './time_axis.js';

export const HEIGHT = 40;
const LEAST_PX = 3;

export function Minimap({ spans, range, window: shown, onZoom }) {
  const canvas = useRef(null);
  const theme = useTheme();
  const drag = useRef(null);
  useEffect(() => {
    const element = canvas.current;
    const draw = () => drawSpans(element, spans, range);
    const observer = new ResizeObserver(draw);
    observer.observe(element);
    draw();
    return () => observer.disconnect();
  }, [spans, range, theme]);

  const timeAt = x => {
    const { left, width } = canvas.current.getBoundingClientRect();
    return Math.min(1, Math.max(0, (x - left) / Math.max(1, width))) * range.length;
  };
  const press = event => {
    event.currentTarget.setPointerCapture(event.pointerId);
    const at = timeAt(event.clientX);
    const inside = shown && at >= shown.from && at <= shown.to;
    drag.current = { at, x: event.clientX, window: shown, inside };
  };
  const move = event => {
    const from = drag.current;
    if (!from || Math.abs(event.clientX - from.x) < LEAST_PX) return;
    const at = timeAt(event.clientX);
    const { length } = range;
    const by = from.inside ? (at - from.at) / (from.window.to - from.window.from) : 0;
    const next = from.inside ? panned(from.window, length, by) : windowOf(from.at, at, length);
    onZoom(formatWindow(next));
  };
  const end = () => {
    drag.current = null;
  };
  const share = each => `${(Math.min(each, range.length) / range.length) * 100}%`;
  return html`
    <div
      class="minimap"
      role="img"
      aria-label=${`The whole trace, ${roundDuration(range.length)}. Drag to zoom.`}
      title="Drag to zoom; drag what is zoomed to move it"
      onPointerDown=${press}
      onPointerMove=${move}
      onPointerUp=${end}
      onPointerCancel=${end}
    >
      <canvas ref=${canvas} height=${HEIGHT}></canvas>
      ${
        shown &&
        html`
          <i class="minimap-shade" style=${{ left: '0', width: share(shown.from) }}></i>
          <i class="minimap-window" style=${{ left: share(shown.from), width: share(shown.to - shown.from) }}></i>
          <i class="minimap-shade" style=${{ left: share(shown.to), right: '0' }}></i>
        `
      }
    </div>
  `;
}

function drawSpans(canvas, spans, range) {
  const ratio = window.devicePixelRatio || 1;
  const { width } = canvas.getBoundingClientRect();
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(HEIGHT * ratio);
  const context = canvas.getContext('2d');
  const scale = axis(range);
  const colours = new Map();
  const colourOf = service => {
    if (!colours.has(service)) colours.set(service, colour(`--${colourClass(service).split(' ')[0]}`));
    return colours.get(service);
  };
  const step = (HEIGHT - 4) / spans.length;
  const thick = Math.max(1, Math.min(4, step * 0.7));
  const line = (span, index, style) => {
    context.fillStyle = style;
    const left = (scale.at(span.start) / 100) * width;
    const right = (scale.at(span.end) / 100) * width;
    context.fillRect(left * ratio, (2 + index * step) * ratio, Math.max(1, right - left) * ratio, thick * ratio);
  };
  spans.forEach((span, index) => line(span, index, colourOf(span.service)));
  const error = colour('--error');
  // over the others, which may lie on one another
  spans.forEach((span, index) => span.error && line(span, index, error));
}
