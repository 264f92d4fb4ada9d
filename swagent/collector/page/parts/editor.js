// Frames as links into an editor: by a template that is kept in this browser. There is none at first.
import { html, useEffect, useState } from '../frame/view.js';

const KEY = 'swagent-editor';
const SUGGESTION = 'vscode://file/{file}:{line}';
// such a link would run in the page, not in an editor
const FORBIDDEN = new Set(['javascript:', 'data:', 'vbscript:', 'blob:']);
const watchers = new Set();
let template = stored();

function stored() {
  try {
    return localStorage.getItem(KEY) ?? '';
  } catch {
    return ''; // storage is forbidden here
  }
}

// whether links can be made of it: an address of some program, with a place for the file
export function isTemplate(text) {
  if (!text.includes('{file}')) return false;
  try {
    return !FORBIDDEN.has(new URL(text).protocol);
  } catch {
    return false;
  }
}

export function editorLink(text, { file, line }) {
  if (!isTemplate(text) || file.startsWith('<')) return null;
  return text.replaceAll('{file}', encodeURI(file).replace(/[?#]/g, encodeURIComponent)).replaceAll('{line}', line);
}

function choose(text) {
  template = text;
  try {
    if (text) localStorage.setItem(KEY, text);
    else localStorage.removeItem(KEY);
  } catch {
    // then it lasts as long as the page
  }
  watchers.forEach(watcher => watcher(text));
}

export function useEditor() {
  const [current, setCurrent] = useState(template);
  useEffect(() => {
    watchers.add(setCurrent);
    setCurrent(template);
    return () => watchers.delete(setCurrent);
  }, []);
  return current;
}

export function EditorSetting() {
  const current = useEditor();
  const [typed, setTyped] = useState(current);
  const wrong = typed !== '' && !isTemplate(typed);
  return html`
    <details class="editor">
      <summary>${current ? 'Frames open in an editor' : 'Open frames in an editor'}</summary>
      <label>
        <span>Address, with <code>{file}</code> and <code>{line}</code></span>
        <input
          type="text"
          value=${typed}
          placeholder=${SUGGESTION}
          aria-label="Address of a frame in the editor"
          aria-invalid=${wrong ? 'true' : undefined}
          autocomplete="off"
          spellcheck=${false}
          onInput=${event => {
            const text = event.target.value.trim();
            setTyped(text);
            if (!text || isTemplate(text)) choose(text);
          }}
        />
      </label>
      ${
        !current &&
        html`
          <button
            type="button"
            class="toggle small"
            onClick=${() => {
              setTyped(SUGGESTION);
              choose(SUGGESTION);
            }}
          >
            Use VS Code's
          </button>
        `
      }
      <small>${wrong ? 'That is no address with {file} in it.' : 'Kept in this browser. Empty: no links.'}</small>
    </details>
  `;
}
