// A small drawing of how a number went on. What it says is in its label as well.
import { html } from '../frame/view.js';

const HEIGHT = 20;
const STEP = 3;

/* values: one a part of the time, null where there is none; label: the text for a reader who sees no drawing */
export function Bars({ values, label, className = '' }) {
  const most = Math.max(1, ...values);
  const path = values
    .map((value, index) => {
      if (!value) return '';
      const height = Math.max(1.5, (value / most) * HEIGHT);
      return `M${index * STEP} ${HEIGHT}v${-height.toFixed(1)}h${STEP - 1}V${HEIGHT}z`;
    })
    .join('');
  return html`
    <${Drawing} count=${values.length} label=${label} className=${`bars ${className}`}>
      <path d=${`M0 ${HEIGHT - 0.5}h${values.length * STEP}v0.5H0z`} class="trend-ground" />
      <path d=${path} />
    <//>
  `;
}

// from zero, with gaps where nothing is known; a single point is a dash
export function Line({ values, label, className = '' }) {
  const most = Math.max(1, ...values.map(each => each ?? 0));
  let path = '';
  values.forEach((value, index) => {
    if (value === null || value === undefined) return;
    const y = (HEIGHT - 1.5 - (value / most) * (HEIGHT - 3)).toFixed(1);
    const before = values[index - 1];
    path += `${before === null || before === undefined ? 'M' : 'L'}${index * STEP} ${y}h${STEP - 1}`;
  });
  return html`
    <${Drawing} count=${values.length} label=${label} className=${`line ${className}`}>
      <path d=${path} fill="none" />
    <//>
  `;
}

function Drawing({ count, label, className, children }) {
  return html`
    <svg
      class=${`trend ${className}`}
      role="img"
      aria-label=${label}
      viewBox=${`0 0 ${count * STEP} ${HEIGHT}`}
      width=${count * STEP}
      height=${HEIGHT}
      preserveAspectRatio="none"
    >
      <title>${label}</title>
      ${children}
    </svg>
  `;
}
