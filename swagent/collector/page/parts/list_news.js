// Above a long list: that it may be out of date, and what has come since it was scrolled.
import { html } from '../frame/view.js';
import { plural } from './format.js';
import { Icon } from './icons.js';
import { Note } from './parts.js';

export function ListNews({ list, error, limit, noun, onShow }) {
  return html`
    ${
      error?.status > 0 && // no answer at all is said above every view
      html`
        <${Note} title="The list may be out of date" kind="error"><p>${error.message}</p><//>
      `
    }
    ${
      list.fresh > 0 &&
      html`
        <button class="fresh" type="button" onClick=${onShow}>
          <${Icon} name="up" size=${14} />
          ${list.fresh >= limit ? `${limit}+ new ${noun}s` : plural(list.fresh, `new ${noun}`)}
        </button>
      `
    }
  `;
}
