// "Copy as pytest": a test with the budgets of this trace goes to the clipboard.
import { html, useState } from '../frame/view.js';
import { Icon } from '../parts/icons.js';
import { copyText } from '../parts/parts.js';
import { testText } from './test_text.js';

export function CopyTest({ trace }) {
  const [done, setDone] = useState(false);
  const copy = async () => setDone(await copyText(testText(trace)));
  return html`
    <button type="button" class="export" onClick=${copy} title="Copy a test for pytest with the budgets of this trace">
      <${Icon} name=${done ? 'check' : 'copy'} size=${14} />
      Copy as pytest
      <span class="out-of-sight" role="status">${done ? 'Copied' : ''}</span>
    </button>
  `;
}
