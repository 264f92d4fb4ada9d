// The tools of a waterfall: search in it, see errors only or its critical path, and leave the zoom.
import { html } from '../frame/view.js';
import { useTyped } from '../frame/typed.js';
import { Toggle } from '../parts/fields.js';
import { count, duration } from '../parts/format.js';
import { Icon } from '../parts/icons.js';

/* found: how many spans match; place: which of them one is on, from 0, or -1; step(by): to the next one; leave():
   the zoom */
export function Tools({ query, change, errors, window: shown, found, place, step, leave }) {
  return html`
    <div class="trace-tools" role="group" aria-label="In this trace">
      <${Find} text=${query.find ?? ''} onChange=${find => change({ find })} ...${{ found, place, step }} />
      ${
        errors > 0 &&
        html`
          <${Toggle}
            label="Errors only"
            on=${query.only === 'errors'}
            onChange=${on => change({ only: on ? 'errors' : '' })}
          />
        `
      }
      <${Toggle} label="Critical path" on=${query.path === '1'} onChange=${on => change({ path: on ? '1' : '' })} />
      ${
        shown &&
        html`
          <button type="button" class="toggle on" onClick=${leave} title="See all of it (Esc)">
            ${duration(shown.from)} – ${duration(shown.to)} <${Icon} name="close" size=${12} />
            <span class="out-of-sight">Leave the zoom</span>
          </button>
        `
      }
    </div>
  `;
}

function Find({ text, onChange, found, place, step }) {
  const { typed, type, say } = useTyped(text, next => next !== text && onChange(next), 150);
  return html`
    <label class="field search">
      <span class="out-of-sight">Search in this trace</span>
      <${Icon} name="search" size=${15} />
      <input
        type="search"
        value=${typed}
        placeholder="Search"
        aria-label="Search in this trace"
        autocomplete="off"
        spellcheck=${false}
        onInput=${event => type(event.target.value)}
        onKeyDown=${event => {
          if (event.key !== 'Enter') return;
          if (event.target.value.trim() === text) step(event.shiftKey ? -1 : 1);
          else say(event.target.value);
        }}
        data-search=${true}
      />
      <kbd aria-hidden="true">/</kbd>
    </label>
    ${
      text &&
      html`
        <span class="found" role="status">
          ${found === 0 ? 'Found nowhere' : place < 0 ? `${count(found)} found` : `${count(place + 1)} of ${count(found)}`}
        </span>
        <button type="button" class="plain up" onClick=${() => step(-1)} aria-label="Previous (N)" title="Previous (N)">
          <${Icon} name="down" size=${14} />
        </button>
        <button type="button" class="plain" onClick=${() => step(1)} aria-label="Next (n)" title="Next (n)">
          <${Icon} name="down" size=${14} />
        </button>
      `
    }
  `;
}
