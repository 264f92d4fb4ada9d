// The completions of a query: keys that were seen, then the values of one.
import { html, useEffect, useMemo, useRef } from '../frame/view.js';
import { address, useResource } from '../frame/api.js';
import { plural, short } from '../parts/format.js';
import { FACETS, quote, wordAt } from './query_text.js';

const MOST = 12;
const OWN = [
  { word: 'dur>', hint: 'duration, as in dur>1s' },
  { word: 'status>=', hint: 'status of an answer, as in status>=500' },
  { word: 'service:', hint: 'a service of the trace' },
  { word: 'endpoint:', hint: 'an entry endpoint' },
  { word: 'error:', hint: 'the kind of an exception' },
  { word: 'peer:', hint: 'what is called' },
  { word: 'instance:', hint: 'an instance of a service' },
];

// `text` null: no field asks. Each option replaces the text between `start` and `end`
export function useCompletions(text, caret) {
  const at = useMemo(() => wordAt(text ?? '', caret), [text, caret]);
  const keys = useResource(text === null ? null : address('tags'), 10_000).data?.keys;
  const wanted = text !== null && at.key !== null;
  const url = wanted ? address(`tags/${encodeURIComponent(at.key)}`, { part: at.part.slice(0, 200) }) : null;
  const values = useResource(url, 10_000).data?.values;
  return useMemo(() => {
    if (text === null) return [];
    const found = at.key === null ? keyOptions(keys ?? [], at.part) : valueOptions(values ?? [], at);
    return found.slice(0, MOST).map(each => ({ ...each, start: at.start, end: at.end }));
  }, [text, at, keys, values]);
}

function keyOptions(keys, part) {
  const low = part.toLowerCase();
  const seen = keys.map(({ key, count }) => ({
    text: `${quote(key, /[\s"=<>!/?*\\]/.test(key))}=`,
    name: key,
    hint: `tag of ${plural(count, 'segment')}`,
  }));
  const own = OWN.map(({ word, hint }) => ({ text: word, name: word, hint }));
  const fits = each => each.name.toLowerCase().includes(low) && each.text !== part;
  // the names that begin with the typed text come first: they are most likely meant
  const rank = each => (each.name.toLowerCase().startsWith(low) ? 0 : 1);
  return [...(low ? [...seen, ...own] : [...own.slice(0, 5), ...seen])].filter(fits).sort((one, other) => rank(one) - rank(other));
}

function valueOptions(values, { key, operator, part }) {
  const head = FACETS.includes(key) ? key : null;
  return values
    .map(({ value, count, term }) => ({
      text: head || operator === '=' ? term : term.replace('=', operator),
      name: value,
      hint: `${short(count)}×`,
    }))
    .filter(each => each.name !== part || values.length > 1);
}

export function Completions({ options, active, onChoose }) {
  const box = useRef(null);
  useEffect(() => {
    box.current.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' });
  }, [active]);
  return html`
    <ul class="completions" id="query-options" role="listbox" aria-label="Completions" hidden=${options.length === 0} ref=${box}>
      ${options.map(
        (each, index) => html`
          <li
            key=${each.text}
            id=${`query-option-${index}`}
            role="option"
            aria-selected=${index === active ? 'true' : 'false'}
            onPointerDown=${event => {
              event.preventDefault(); // the field keeps the focus
              onChoose(each);
            }}
          >
            <span class="completion-name" dir="auto">${each.name}</span>
            <span class="completion-hint">${each.hint}</span>
          </li>
        `,
      )}
    </ul>
  `;
}
