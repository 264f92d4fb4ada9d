// Takes files of traces in: chosen by the button, or dropped anywhere on the page.
import { html, useEffect, useRef, useState } from '../frame/view.js';
import { plural } from '../parts/format.js';
import { Icon } from '../parts/icons.js';
import { go, link } from '../frame/route.js';

const MOST_LINKS = 5;

export function Import() {
  const input = useRef(null);
  const [over, setOver] = useState(false);
  const [results, setResults] = useState([]);
  const take = async files => {
    const found = [];
    for (const file of files) found.push({ name: file.name, ...(await send(file)) });
    setResults(found);
    const [only] = found;
    if (found.length === 1 && only.trace_count === 1) go(link(['traces', only.traces[0]]));
  };
  useDrop(take, setOver);
  return html`
    <button
      class="plain import"
      type="button"
      onClick=${() => input.current.click()}
      aria-label="Import traces from a file"
      title="Import traces from a file, or drop it here"
    >
      <${Icon} name="import" />
    </button>
    <input
      ref=${input}
      class="file-input"
      type="file"
      accept=".json,application/json"
      multiple
      tabindex="-1"
      aria-label="File of traces"
      onChange=${event => {
        const files = [...event.target.files];
        event.target.value = ''; // the same file may be chosen again
        take(files);
      }}
    />
    ${
      over &&
      html`
        <div class="drop-here"><p>Drop files of traces here</p></div>
      `
    }
    <div class="imported" role="status" hidden=${results.length === 0}>
      <ul>
        ${results.map(
          each => html`
            <${Result} result=${each} />
          `,
        )}
      </ul>
      <button class="plain" type="button" onClick=${() => setResults([])} aria-label="Close what was imported">
        <${Icon} name="close" size=${14} />
      </button>
    </div>
  `;
}

async function send(file) {
  try {
    const answer = await fetch('/api/import', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: file,
    });
    const body = await answer.json();
    return answer.ok ? body : { error: body.error };
  } catch {
    return { error: 'the collector does not answer, or the file cannot be read' };
  }
}

function Result({ result }) {
  const { name, error, traces, trace_count: number, segments, logs, known } = result;
  if (error)
    return html`
      <li>
        <b>${name}</b> <span class="bad">was not imported: ${error}</span>
      </li>
    `;
  const parts = [plural(number, 'trace'), plural(segments, 'new segment'), plural(logs, 'new log line')];
  return html`
    <li>
      <b>${name}</b> ${parts.join(', ')}${known > 0 ? `; ${plural(known, 'segment')} had been here` : ''}.${' '}
      ${
        number <= MOST_LINKS
          ? traces.map(
              id => html`
                <a href=${link(['traces', id])}>${id.slice(0, 12)}</a>${' '}
              `,
            )
          : html`
              They are <a href="#/traces">in the list</a> by their time.
            `
      }
    </li>
  `;
}

// files only: a text that is dragged into a field is none of ours
const hasFiles = event => [...(event.dataTransfer?.types ?? [])].includes('Files');

function useDrop(take, setOver) {
  const current = useRef(take);
  current.current = take;
  useEffect(() => {
    const over = event => {
      if (!hasFiles(event)) return;
      event.preventDefault(); // else the browser opens the file
      setOver(true);
    };
    const leave = event => {
      if (event.relatedTarget === null) setOver(false);
    };
    const drop = event => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(false);
      current.current([...event.dataTransfer.files]);
    };
    const listeners = Object.entries({ dragover: over, dragleave: leave, drop });
    listeners.forEach(([name, listener]) => window.addEventListener(name, listener));
    return () => listeners.forEach(([name, listener]) => window.removeEventListener(name, listener));
  }, []);
}
