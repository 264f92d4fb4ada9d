// The query of the traces: a field that completes keys and values from what was seen.
import { html, useEffect, useMemo, useRef, useState } from '../frame/view.js';
import { useTyped } from '../frame/typed.js';
import { Icon } from '../parts/icons.js';
import { Completions, useCompletions } from './completions.js';
import { isUnfinished, openQuery } from './query_text.js';

const PAUSE_MS = 250; // of typing, before it is searched for

// onOpen(text, query): meanwhile the text means this query, until it is finished
export function QueryField({ value, error, onChange, onOpen }) {
  const { typed, type: hold, say, isHeld } = useTyped(value, onChange, PAUSE_MS);
  const [caret, setCaret] = useState(0);
  const [open, setOpen] = useState(false);
  const [active, setActive] = useState(-1);
  const input = useRef(null);
  const options = useCompletions(open ? typed : null, caret);
  const shown = open && options.length > 0;
  const meant = useMemo(() => openQuery(typed, options.map(each => each.name)), [typed, options]);
  useEffect(() => {
    if (open) onOpen(typed, meant);
  }, [open, typed, meant]);

  const type = (text, at) => {
    hold(text, !isUnfinished(text));
    setCaret(at);
    setOpen(true);
    setActive(-1);
  };
  const choose = option => {
    const text = typed.slice(0, option.start) + option.text + typed.slice(option.end);
    const at = option.start + option.text.length;
    type(text, at);
    if (!isUnfinished(text)) {
      say(text);
      setOpen(false);
    }
    requestAnimationFrame(() => {
      input.current?.focus();
      input.current?.setSelectionRange(at, at);
    });
  };
  const close = () => {
    setOpen(false);
    setActive(-1);
  };
  const keys = {
    ArrowDown: () => (shown ? setActive((active + 1) % options.length) : setOpen(true)),
    ArrowUp: () => shown && setActive(active < 1 ? options.length - 1 : active - 1),
    Enter: () => {
      if (shown && active >= 0) choose(options[active]);
      else {
        onOpen(typed, null);
        say(typed);
        close();
      }
    },
    Escape: () => (shown ? close() : false),
  };
  const press = event => {
    if (event.isComposing || !keys[event.key] || keys[event.key]() === false) return;
    event.preventDefault();
    event.stopPropagation(); // the page's own Escape leaves the field
  };
  const move = event => setCaret(event.target.selectionStart);
  return html`
    <div class="field search query-field">
      <${Icon} name="search" size=${15} />
      <input
        type="text"
        role="combobox"
        ref=${input}
        value=${typed}
        placeholder="tenant=globex status>=500 dur>1s, a text or a trace id"
        aria-label="Query: tags, text or a trace id"
        aria-autocomplete="list"
        aria-expanded=${shown ? 'true' : 'false'}
        aria-controls="query-options"
        aria-activedescendant=${shown && active >= 0 ? `query-option-${active}` : undefined}
        aria-invalid=${error ? 'true' : undefined}
        aria-describedby=${error ? 'query-error' : undefined}
        autocomplete="off"
        autocapitalize="off"
        spellcheck=${false}
        data-search
        onInput=${event => type(event.target.value, event.target.selectionStart)}
        onKeyDown=${press}
        onKeyUp=${move}
        onClick=${event => {
          move(event);
          setOpen(true);
        }}
        onBlur=${() => {
          close();
          if (isHeld()) say(typed);
        }}
      />
      <kbd aria-hidden="true">/</kbd>
      <${Completions} options=${shown ? options : []} active=${active} onChoose=${choose} />
      ${
        error &&
        !shown &&
        html`
          <p class="query-error" id="query-error" role="alert">${error}</p>
        `
      }
    </div>
  `;
}
