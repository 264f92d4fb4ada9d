// Which time the numbers are about.
import { html } from '../frame/view.js';
import { clock } from './format.js';
import { Select } from './fields.js';
import { Icon } from './icons.js';

const WINDOWS = [
  ['', 'Any time'],
  ['5', 'Last 5 min'],
  ['15', 'Last 15 min'],
  ['60', 'Last hour'],
];

// the parts of an address that are about time; the links of a view hand it on
export const timeOf = ({ last, from, to }) => ({ last, from, to });

export function TimeWindow({ query, onChange, windows = WINDOWS }) {
  return query.from || query.to
    ? html`
        <button
          type="button"
          class="toggle on"
          onClick=${() => onChange({ from: '', to: '' })}
          aria-label="Remove the chosen time"
        >
          ${query.from ? clock(Number(query.from), false) : 'the beginning'} – ${query.to ? clock(Number(query.to), false) : 'now'}
          <${Icon} name="close" size=${12} />
        </button>
      `
    : html`
        <${Select}
          label="Time"
          value=${query.last ?? ''}
          options=${windows}
          onChange=${last => onChange({ last })}
        />
      `;
}
