// The tasks of a request as a small tree: who began whom, when, and how each ended.
import { html, useMemo } from '../frame/view.js';
import { duration, plural } from '../parts/format.js';
import { tasksOf } from './task_tree.js';

const OUTCOMES = {
  done: 'done',
  failed: 'failed',
  cancelled: 'cancelled',
  running: 'still running when the response was sent',
  outlived: 'outlived the request',
};
const MARKS = { done: '✓', failed: '✕', cancelled: '⊘', running: '…', outlived: '…' };
const INDENTED = 8; // levels

export function Tasks({ span }) {
  const tasks = useMemo(() => tasksOf(span), [span]);
  if (tasks.length === 0) return null;
  const whole = Math.max(1, span.end - span.start, ...tasks.map(each => each.end ?? each.begin));
  return html`
    <h3>${plural(tasks.length, 'task')} that it began</h3>
    <ul class="tasks" aria-label="Tasks">
      ${tasks.map(
        task => html`
          <${Task} task=${task} whole=${whole} key=${task.id} />
        `,
      )}
    </ul>
  `;
}

function Task({ task, whole }) {
  const end = task.end ?? whole;
  const took = task.end === null ? 'not ended' : duration(task.end - task.begin);
  return html`
    <li class=${task.outcome} style=${{ paddingLeft: `${Math.min(task.depth, INDENTED) * 14}px` }}>
      <span class="task-name">
        <i class="mark" aria-hidden="true">${MARKS[task.outcome]}</i>
        ${
          task.depth > 0 &&
          html`
            <span class="out-of-sight">level ${task.depth + 1}</span>
          `
        }
        <b dir="auto" title=${task.name}>${task.name || '(unnamed)'}</b>
        ${
          task.group &&
          html`
            <span class="quiet">${task.group}</span>
          `
        }
        <span class="number">${took}</span>
      </span>
      <i class="task-line" aria-hidden="true">
        <i
          style=${{
            left: `${(task.begin / whole) * 100}%`,
            width: `${Math.max(0.5, ((end - task.begin) / whole) * 100)}%`,
          }}
        ></i>
      </i>
      <span class="task-end">
        ${task.end === null ? OUTCOMES[task.outcome] : `${OUTCOMES[task.outcome]} at ${duration(task.end)}`}${task.cause && `: ${task.cause}`}
      </span>
    </li>
  `;
}
