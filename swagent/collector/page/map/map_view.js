// Which part of the map is seen, and how large: by wheel, pointer, button and key.
import { useEffect, useLayoutEffect, useRef, useState } from '../frame/view.js';

const LARGEST = 3;
const SMALLEST = 0.15;
const STEP = 1.3;
const MARGIN_PX = 60;
const CLICK_PX = 4; // a press that moves less is a click

// the whole, in the middle
export function whole({ width, height }, room, most = 1.1) {
  const scale = Math.max(SMALLEST, Math.min(most, room.width / width, room.height / height));
  return { scale, x: (room.width - width * scale) / 2, y: (room.height - height * scale) / 2 };
}

// as much of it as can be read, from where calls begin
function readable(places, room, least) {
  const all = whole(places, room);
  if (all.scale >= least) return all;
  const begin = (size, length) => Math.max(0, (length - size * least) / 2);
  return { scale: least, x: begin(places.width, room.width), y: begin(places.height, room.height) };
}

export function useView(places, least) {
  const box = useRef(null);
  const [room, setRoom] = useState(null);
  const [moved, setMoved] = useState(null); // null: as it is by itself
  const dragged = useRef(null);
  useLayoutEffect(() => {
    const measure = () => setRoom({ width: box.current.clientWidth, height: box.current.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(box.current);
    measure();
    return () => observer.disconnect();
  }, []);
  useEffect(() => setMoved(null), [places]);
  const view = moved ?? (room ? readable(places, room, least) : { scale: 1, x: 0, y: 0 });
  const current = useRef(view);
  current.current = view;

  const zoom = (by, at) => {
    const { scale, x, y } = current.current;
    const next = Math.min(LARGEST, Math.max(SMALLEST, scale * by));
    const middle = at ?? { x: box.current.clientWidth / 2, y: box.current.clientHeight / 2 };
    const hold = (from, point) => point - ((point - from) * next) / scale;
    setMoved({ scale: next, x: hold(x, middle.x), y: hold(y, middle.y) });
  };
  const pan = (right, down) => {
    const { scale, x, y } = current.current;
    setMoved({ scale, x: x + right, y: y + down });
  };
  const reveal = node => {
    const { scale, x, y } = current.current;
    const { clientWidth, clientHeight } = box.current;
    const inside = (at, length) => at >= MARGIN_PX && at <= length - MARGIN_PX;
    const [here, down] = [x + node.x * scale, y + node.y * scale];
    if (inside(here, clientWidth) && inside(down, clientHeight)) return;
    pan(inside(here, clientWidth) ? 0 : clientWidth / 2 - here, inside(down, clientHeight) ? 0 : clientHeight / 2 - down);
  };
  const acts = useRef({ zoom });
  acts.current = { zoom };
  useEffect(() => {
    const turn = event => {
      event.preventDefault();
      const { left, top } = box.current.getBoundingClientRect();
      acts.current.zoom(Math.exp(-event.deltaY / 400), { x: event.clientX - left, y: event.clientY - top });
    };
    const element = box.current;
    element.addEventListener('wheel', turn, { passive: false });
    return () => element.removeEventListener('wheel', turn);
  }, []);
  const hands = {
    onPointerDown: event => {
      if (event.button === 0) dragged.current = { x: event.clientX, y: event.clientY, held: false };
    },
    onPointerMove: event => {
      const from = dragged.current;
      if (!from || event.buttons === 0) return;
      const [right, down] = [event.clientX - from.x, event.clientY - from.y];
      if (!from.held && Math.hypot(right, down) < CLICK_PX) return;
      box.current.setPointerCapture(event.pointerId);
      dragged.current = { x: event.clientX, y: event.clientY, held: true };
      pan(right, down);
    },
    onPointerUp: () => {
      dragged.current = null;
    },
    onPointerCancel: () => {
      dragged.current = null;
    },
  };
  return {
    box,
    room,
    view,
    hands,
    pan,
    reveal,
    larger: () => zoom(STEP),
    smaller: () => zoom(1 / STEP),
    fit: () => setMoved(whole(places, room)),
  };
}
