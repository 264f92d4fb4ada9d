// The time that log lines are looked at in: the last minutes, or from one moment to another. It is in the address.
import { html, useMemo } from '../frame/view.js';
import { Select } from '../parts/fields.js';

const MINUTE_MS = 60_000;
const FIRST_MS = 15 * MINUTE_MS;
const CHOICES = [
  ['', 'Any time'],
  ['5', 'Last 5 min'],
  ['15', 'Last 15 min'],
  ['60', 'Last hour'],
  ['range', 'From … to …'],
];
const isNumber = text => /^\d+$/.test(text ?? '');

// the times for the collector. The last minutes are counted from when they were chosen: rows that leave at the foot
// while one reads would be asked for without an end.
export function useTimes({ last, from, to }) {
  return useMemo(
    () =>
      isNumber(last)
        ? { from: Date.now() - Number(last) * MINUTE_MS }
        : { from: isNumber(from) ? from : '', to: isNumber(to) ? to : '' },
    [last, from, to],
  );
}

export function LogTimes({ query, set }) {
  const ranged = isNumber(query.from) || isNumber(query.to);
  const value = query.last ?? (ranged ? 'range' : '');
  const choose = choice => {
    const now = Math.floor(Date.now() / 1000) * 1000;
    if (choice === 'range') set({ last: '', from: now - FIRST_MS, to: now });
    else set({ last: choice, from: '', to: '' });
  };
  return html`
    <${Select} label="Time" value=${value} options=${CHOICES} onChange=${choose} />
    ${
      value === 'range' &&
      html`
        <span class="range">
          <${Moment} label="From" value=${query.from} onChange=${from => set({ from })} />
          –
          <${Moment} label="To" value=${query.to} onChange=${to => set({ to })} />
        </span>
      `
    }
  `;
}

function Moment({ label, value, onChange }) {
  return html`
    <label class="field">
      <span class="out-of-sight">${label}</span>
      <input
        type="datetime-local"
        step="1"
        class="moment"
        aria-label=${label}
        value=${isNumber(value) ? localText(Number(value)) : ''}
        onChange=${event => onChange(event.target.value ? new Date(event.target.value).getTime() : '')}
      />
    </label>
  `;
}

// as the field wants it: in the time of this place
function localText(time) {
  const date = new Date(time - new Date(time).getTimezoneOffset() * MINUTE_MS);
  return date.toISOString().slice(0, 19);
}
