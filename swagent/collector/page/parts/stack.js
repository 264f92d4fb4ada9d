// A stack from its useful end: the last exception first, its innermost frame on top, frames of libraries folded.
import { html, useMemo, useState } from '../frame/view.js';
import { editorLink, EditorSetting, useEditor } from './editor.js';
import { plural } from './format.js';
import { parseStack, runsOf, shortPath } from './frames.js';
import { Copy } from './parts.js';

/* text: as it was reported; kind and message: of the exception, where they are shown beside it; label: for the copy */
export function Stack({ text, kind = '', message = '', label = 'the stack' }) {
  const exceptions = useMemo(() => parseStack(text), [text]);
  const [raw, setRaw] = useState(false);
  if (!exceptions || raw)
    return html`
      <div class="stack-box">
        <pre class="stack" tabindex="0">${text}</pre>
        <p class="stack-tools">
          ${
            exceptions &&
            html`
              <button type="button" class="toggle small" onClick=${() => setRaw(false)}>As frames</button>
            `
          }
          <${Copy} text=${text} label=${label} />
        </p>
      </div>
    `;
  return html`
    <div class="stack-box">
      <div class="stack" tabindex="0" role="group" aria-label="Stack, the innermost frame first">
        ${exceptions.map(
          (each, index) => html`
            <${Exception} exception=${each} key=${index} isKnown=${index === 0 && isShownBeside(each, kind, message)} />
          `,
        )}
      </div>
      <div class="stack-tools">
        <${EditorSetting} />
        <button type="button" class="toggle small" onClick=${() => setRaw(true)}>As text</button>
        <${Copy} text=${text} label=${label} />
      </div>
    </div>
  `;
}

// the box around it has said so
const isShownBeside = ({ title }, kind, message) => kind !== '' && (title === kind || title === `${kind}: ${message}`);

function Exception({ exception, isKnown }) {
  const { title, link, frames } = exception;
  const runs = runsOf(frames);
  const alone = runs.length === 1;
  return html`
    <section class="exception">
      ${
        title &&
        !isKnown &&
        html`
          <p class="exception-title">${title}</p>
        `
      }
      <ol class="frames">
        ${runs.map(run =>
          run.isLibrary && !alone
            ? html`
                <${Folded} frames=${run.frames} />
              `
            : run.frames.map(
                frame => html`
                  <${Frame} frame=${frame} />
                `,
              ),
        )}
      </ol>
      ${
        link &&
        html`
          <p class="exception-link">${link}</p>
        `
      }
    </section>
  `;
}

function Folded({ frames }) {
  const [open, setOpen] = useState(false);
  const names = [...new Set(frames.map(each => each.library))];
  const text = `${plural(frames.length, 'frame')} of ${names.slice(0, 3).join(', ')}${names.length > 3 ? ', …' : ''}`;
  return html`
    <li class="frames-fold">
      <button type="button" aria-expanded=${open ? 'true' : 'false'} onClick=${() => setOpen(!open)}>${text}</button>
    </li>
    ${
      open &&
      frames.map(
        frame => html`
          <${Frame} frame=${frame} />
        `,
      )
    }
  `;
}

function Frame({ frame }) {
  const template = useEditor();
  const href = editorLink(template, frame);
  const place = `${shortPath(frame.file)}:${frame.line}`;
  return html`
    <li class=${`frame ${frame.library ? 'library' : ''}`}>
      <b>${frame.name || '(no name)'}</b>${' '}
      ${
        href
          ? html`
              <a href=${href} title=${`${frame.file}:${frame.line}, in the editor`}>${place}</a>
            `
          : html`
              <span class="place" title=${`${frame.file}:${frame.line}`}>${place}</span>
            `
      }
      ${
        frame.source &&
        html`
          <code>${frame.source}</code>
        `
      }
    </li>
  `;
}
