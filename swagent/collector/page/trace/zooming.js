// Zooming into a trace: by dragging over its time, and by keys. Where one is, is in the address.
import { html, useRef, useState } from '../frame/view.js';
import { formatWindow, panned, windowOf, zoomed } from './time_axis.js';

const LEAST_PX = 5; // that make it a drag, and not a click
const STEP = 0.25; // of what is seen

/* the keys; centre: milliseconds after the begin of the axis, or nothing for the middle */
export function zoomKeys({ window, length }, centre, onZoom) {
  const to = next => onZoom(formatWindow(next));
  return {
    '+': () => to(zoomed(window, length, 0.5, centre)),
    '=': () => to(zoomed(window, length, 0.5, centre)),
    '-': () => to(zoomed(window, length, 2, centre)),
    0: () => to(null),
    left: () => to(panned(window, length, -STEP)),
    right: () => to(panned(window, length, STEP)),
  };
}

// the handlers of the container of the rows, and the strip that it shows during a drag
export function useZoomDrag(box, scale, onZoom) {
  const drag = useRef(null);
  const [seen, setSeen] = useState(null);
  const strip = () => box.current.querySelector('.axis-time').getBoundingClientRect();
  const timeAt = x => {
    const { left, width } = strip();
    const share = Math.min(1, Math.max(0, (x - left) / Math.max(1, width)));
    return scale.timeAt(share * 100) - scale.from;
  };
  const move = event => {
    if (!drag.current || event.pointerId !== drag.current.id) return;
    const { x } = drag.current;
    if (!drag.current.far && Math.abs(event.clientX - x) < LEAST_PX) return;
    if (!drag.current.far) box.current.setPointerCapture(event.pointerId);
    drag.current.far = true;
    const { left, right } = strip();
    const clamp = each => Math.min(right, Math.max(left, each)) - box.current.getBoundingClientRect().left;
    setSeen([clamp(Math.min(x, event.clientX)), clamp(Math.max(x, event.clientX))]);
  };
  const end = event => {
    const from = drag.current;
    drag.current = null;
    setSeen(null);
    if (!from?.far) return;
    // the click that follows is the end of the drag, and of nothing else
    const swallow = click => {
      click.stopPropagation();
      click.preventDefault();
    };
    window.addEventListener('click', swallow, { capture: true, once: true });
    setTimeout(() => window.removeEventListener('click', swallow, { capture: true }));
    if (event.type === 'pointerup')
      onZoom(formatWindow(windowOf(timeAt(from.x), timeAt(event.clientX), scale.length)));
  };
  const handlers = {
    onPointerDown: event => {
      const isTime = event.target.closest('.span-time, .axis-time');
      // a finger scrolls there; it zooms in the small map
      if (isTime && event.button === 0 && event.pointerType !== 'touch')
        drag.current = { id: event.pointerId, x: event.clientX, far: false };
    },
    onPointerMove: move,
    onPointerUp: end,
    onPointerCancel: end,
  };
  const overlay =
    seen &&
    html`
      <div class="zoom-range" style=${{ left: `${seen[0]}px`, width: `${seen[1] - seen[0]}px` }}></div>
    `;
  return { handlers, overlay };
}
