// The keys, as a dialog.
import { html, useEffect, useRef } from './view.js';
import { Icon } from '../parts/icons.js';

const KEYS = [
  ['/', 'Search'],
  ['j  k', 'Next and previous row'],
  ['Enter', 'Open the row'],
  ['Esc', 'Close, or back to the list'],
  ['h  l', 'In a trace: collapse and expand'],
  ['n  N', 'In a trace: next and previous that was found'],
  ['e', 'In a trace: the next error, the deepest first'],
  ['c', 'In a trace: the critical path'],
  ['+  -  0', 'In a trace: zoom in, out, and see all of it'],
  ['⇧←  ⇧→', 'In a trace: move what is zoomed'],
  ['g', 'To the top, to the newest'],
  ['m', 'In Services: mark now, to compare before and after'],
  ['0 … 8', 'Findings, Traces, Services, Errors, Map, Logs, Meters, Runtime, Profiles'],
  ['d', 'Light or dark'],
  ['?', 'This help'],
];

export function Help({ onClose }) {
  const dialog = useRef(null);
  useEffect(() => {
    dialog.current.showModal();
  }, []);
  return html`
    <dialog
      class="help"
      ref=${dialog}
      onClose=${onClose}
      aria-labelledby="help-title"
      onClick=${event => {
        if (event.target === dialog.current) dialog.current.close();
      }}
    >
      <header>
        <h2 id="help-title">Keys</h2>
        <button class="plain" type="button" onClick=${() => dialog.current.close()} aria-label="Close">
          <${Icon} name="close" />
        </button>
      </header>
      <dl>
        ${KEYS.map(
          ([key, text]) => html`
            <div>
              <dt>
                ${key.split('  ').map(
                  each => html`
                    <kbd>${each}</kbd>${' '}
                  `,
                )}
              </dt>
              <dd>${text}</dd>
            </div>
          `,
        )}
      </dl>
    </dialog>
  `;
}
