// The fields to type into, to choose from and to switch.
import { html } from '../frame/view.js';
import { useTyped } from '../frame/typed.js';
import { Icon } from './icons.js';

export function Select({
  label,
  value,
  options,
  onChange,
  neutral = false,
  disabled = false,
  hint = '',
  roomy = false,
}) {
  const shown = options.some(([key]) => key === value) ? options : [[value, value], ...options];
  return html`
    <label class=${`field select ${roomy ? 'roomy' : ''}`} title=${hint || value}>
      <span class="out-of-sight">${label}</span>
      <select
        aria-label=${label}
        class=${value && !neutral ? 'set' : ''}
        disabled=${disabled}
        value=${value}
        onChange=${event => onChange(event.target.value)}
      >
        ${shown.map(
          ([key, text]) => html`
            <option value=${key} selected=${key === value}>${text}</option>
          `,
        )}
      </select>
      <${Icon} name="down" size=${12} />
    </label>
  `;
}

export function Text({ label, value, onChange, placeholder, search = false, numeric = false }) {
  const { typed, type, say } = useTyped(value, onChange, 180);
  return html`
    <label class=${`field ${search ? 'search' : ''} ${numeric ? 'numeric' : ''}`}>
      <span class="out-of-sight">${label}</span>
      ${
        search &&
        html`
          <${Icon} name="search" size=${15} />
        `
      }
      <input
        type=${search ? 'search' : 'text'}
        value=${typed}
        placeholder=${placeholder}
        aria-label=${label}
        inputmode=${numeric ? 'numeric' : 'text'}
        aria-invalid=${numeric && typed && !/^\d+$/.test(typed) ? 'true' : undefined}
        title=${numeric ? 'Whole milliseconds' : undefined}
        autocomplete="off"
        spellcheck=${false}
        onInput=${event => type(event.target.value)}
        onKeyDown=${event => {
          if (event.key === 'Enter') say(event.target.value);
        }}
        data-search=${search || undefined}
      />
      ${
        search &&
        html`
          <kbd aria-hidden="true">/</kbd>
        `
      }
    </label>
  `;
}

export function Toggle({ label, on, onChange }) {
  return html`
    <button
      type="button"
      class=${`toggle ${on ? 'on' : ''}`}
      aria-pressed=${on ? 'true' : 'false'}
      onClick=${() => onChange(!on)}
    >
      ${label}
    </button>
  `;
}
