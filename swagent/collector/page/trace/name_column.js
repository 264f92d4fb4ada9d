// How wide the names of a waterfall are: by dragging or by arrow keys, kept in this browser.
import { html, useRef, useState } from '../frame/view.js';

const KEY = 'swagent-name-column';
const [LEAST, MOST, STEP] = [15, 75, 2]; // percent

const clamp = value => Math.min(MOST, Math.max(LEAST, value));

function stored() {
  try {
    const found = Number.parseFloat(localStorage.getItem(KEY));
    return Number.isFinite(found) ? clamp(found) : null;
  } catch {
    return null; // storage is forbidden here
  }
}

function store(value) {
  try {
    if (value === null) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, String(value));
  } catch {
    // then it lasts as long as the trace is shown
  }
}

// percent, or nothing: as the style sheet has it
export function useNameColumn() {
  const [width, setWidth] = useState(stored);
  const change = value => {
    setWidth(value);
    store(value);
  };
  return [width, change];
}

export function Splitter({ box, width, onChange }) {
  const drag = useRef(false);
  const share = x => {
    const { left, width: whole } = box.current.getBoundingClientRect();
    return clamp(((x - left) / Math.max(1, whole)) * 100);
  };
  const now = () => width ?? share(box.current?.querySelector('.axis-time')?.getBoundingClientRect().left ?? 0);
  const keys = { ArrowLeft: -STEP, ArrowRight: STEP };
  return html`
    <div
      class="splitter"
      role="separator"
      aria-orientation="vertical"
      aria-label="Width of the names"
      aria-valuemin=${LEAST}
      aria-valuemax=${MOST}
      aria-valuenow=${Math.round(width ?? 36)}
      tabindex="0"
      title="Drag to resize, double-click to reset"
      onPointerDown=${event => {
        drag.current = true;
        event.currentTarget.setPointerCapture(event.pointerId);
        event.preventDefault();
      }}
      onPointerMove=${event => {
        if (drag.current) onChange(share(event.clientX));
      }}
      onPointerUp=${() => {
        drag.current = false;
      }}
      onPointerCancel=${() => {
        drag.current = false;
      }}
      onDblClick=${() => onChange(null)}
      onKeyDown=${event => {
        if (!keys[event.key]) return;
        event.preventDefault();
        event.stopPropagation();
        onChange(clamp(now() + keys[event.key]));
      }}
    ></div>
  `;
}
