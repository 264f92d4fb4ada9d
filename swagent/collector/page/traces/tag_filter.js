// Beside a tag: the traces that have it, or those that have not.
import { html } from '../frame/view.js';
import { link, parseRoute, whereLeft } from '../frame/route.js';
import { addTerm, tagTerm } from './query_text.js';

const LONGEST = 200; // of a value that still makes a search that one can read

// the list's search as it was left, with one more term
function withTerm(term) {
  const { query } = parseRoute(whereLeft('traces'));
  return link(['traces'], { ...query, q: addTerm(query.q, term), box: '' });
}

export function TagFilter({ name, value }) {
  if (String(value).length > LONGEST) return null;
  const text = `${name}=${value}`;
  return html`
    <span class="tag-filter">
      <a
        href=${withTerm(tagTerm(name, String(value)))}
        aria-label=${`Only these: traces with this ${name}`}
        title=${`Only traces with ${text}`}
        >=</a
      >
      <a
        href=${withTerm(tagTerm(name, String(value), '!='))}
        aria-label=${`Not these: traces without this ${name}`}
        title=${`Not traces with ${text}`}
        >≠</a
      >
    </span>
  `;
}
