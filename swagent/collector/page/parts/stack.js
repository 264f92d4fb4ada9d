// A stack from its useful end: the last exception first, its innermost frame on top, frames of libraries folded.
import { html, useMemo, useState } from '../frame/view.js';
import { editorLink, EditorSetting, useEditor } from './editor.js';
import { plural } from './format.js';
import { Copy } from './parts.js';
import { folded, ownerOf, readStack, shortPath } from './stack_text.js';

/* text: as it was reported; kind and message: of the exception; isTold: they stand beside it; label: for the copy */
export function Stack({ text, kind = '', message = '', isTold = false, label = 'the stack' }) {
  const title = [kind, message].filter(Boolean).join(': ');
  const exceptions = useMemo(() => readStack(text, title), [text, title]);
  const [raw, setRaw] = useState(false);
  const hasFrames = exceptions.some(each => each.frames.length > 0);
  if (!hasFrames || raw)
    return html`
      <div class="stack-box">
        <pre class="stack" tabindex="0">${text}</pre>
        <p class="stack-tools">
          ${
            hasFrames &&
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
            <${Exception}
              exception=${each}
              key=${index}
              hasTitle=${each.title && !(isTold && index === 0 && [kind, title].includes(each.title))}
            />
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

function Exception({ exception, hasTitle }) {
  const { title, how, frames } = exception;
  const runs = folded(frames);
  const alone = runs.length === 1;
  return html`
    <section class="exception">
      ${
        how &&
        html`
          <p class="exception-how">${how}</p>
        `
      }
      ${
        hasTitle &&
        html`
          <p class="exception-title" dir="auto">${title}</p>
        `
      }
      <ol class="frames">
        ${runs.map(run =>
          run.library && !alone
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
    </section>
  `;
}

function Folded({ frames }) {
  const [open, setOpen] = useState(false);
  const names = [...new Set(frames.map(ownerOf).filter(Boolean))];
  const of = names.length > 0 ? `: ${names.slice(0, 3).join(', ')}${names.length > 3 ? ', …' : ''}` : '';
  const text = `${plural(frames.length, 'library frame')}${of}`;
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
  const line = frame.line ? `:${frame.line}` : '';
  const place = `${shortPath(frame.file)}${line}`;
  return html`
    <li class=${`frame ${frame.library ? 'library' : ''}`}>
      <b>${frame.function || '(module)'}</b>${' '}
      ${
        href
          ? html`
              <a href=${href} title=${`${frame.file}${line}, in the editor`}>${place}</a>
            `
          : html`
              <span class="place" title=${`${frame.file}${line}`}>${place}</span>
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
