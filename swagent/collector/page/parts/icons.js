// Small drawings of one line width; they say nothing that a text beside them does not say.
import { html } from '../frame/view.js';

const PATHS = {
  findings: 'M9 14A5 5 0 1 0 9 4a5 5 0 0 0 0 10zM13 13l4 4M9 6.5v3M9 11.5h.01',
  traces: 'M3 5h8M6 10h9M10 15h7',
  services: 'M4 4h12v5H4zM4 11h12v5H4zM7 6.5h.01M7 13.5h.01',
  errors: 'M7 2.8h6l4.2 4.2v6L13 17.2H7L2.8 13V7zM10 6.5v4.5M10 13.5h.01',
  map: 'M5 7.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM15 12.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM6 17.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM7.3 6l5.4 3M7.9 14.8l5-3.2',
  logs: 'M4 4h12M4 8h8M4 12h12M4 16h6',
  meters: 'M3 16V4M3 16h14M6 12l3-4 3 2 4-6',
  runtime: 'M10 2.5l6.5 3.7v7.6L10 17.5l-6.5-3.7V6.2zM3.5 6.2L10 10l6.5-3.8M10 10v7.5',
  profiles: 'M3 4h14M3 8h9M14 8h3M5 12h5M7 16h2',
  search: 'M9 14A5 5 0 1 0 9 4a5 5 0 0 0 0 10zM13 13l4 4',
  sun: 'M10 13.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM10 1.5v2M10 16.5v2M1.5 10h2M16.5 10h2M4 4l1.4 1.4M14.6 14.6L16 16M4 16l1.4-1.4M14.6 5.4L16 4',
  moon: 'M16.5 11.5A7 7 0 0 1 8.5 3.5a7 7 0 1 0 8 8z',
  help: 'M10 17.5a7.5 7.5 0 1 0 0-15 7.5 7.5 0 0 0 0 15zM7.8 7.8a2.2 2.2 0 1 1 3.2 2c-.7.4-1 .8-1 1.6M10 14h.01',
  copy: 'M7 7h9v9H7zM4 13V4h9',
  check: 'M4 10.5l4 4 8-9',
  close: 'M5 5l10 10M15 5L5 15',
  back: 'M12 4l-6 6 6 6',
  open: 'M8 4l6 6-6 6',
  down: 'M4 8l6 6 6-6',
  warning: 'M10 3l7.5 13h-15zM10 8v4M10 14h.01',
  filter: 'M3 5h14M6 10h8M8.5 15h3',
  export: 'M10 3v9M6 8.5l4 4 4-4M4 16h12',
  import: 'M10 12.5v-9M6 7l4-4 4 4M4 16h12',
  plus: 'M10 4v12M4 10h12',
  minus: 'M4 10h12',
  fit: 'M3 7V3h4M13 3h4v4M17 13v4h-4M7 17H3v-4',
  up: 'M10 16V4M5 9l5-5 5 5',
};

export function Icon({ name, size = 18 }) {
  return html`
    <svg class="icon" width=${size} height=${size} viewBox="0 0 20 20" aria-hidden="true" focusable="false">
      <path
        d=${PATHS[name]}
        fill="none"
        stroke="currentColor"
        stroke-width="1.6"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  `;
}
