// The tasks that a request began, as its agent lists them in the tag `tasks`; pure.
import { tagOf } from './loop_blocks.js';

const OUTCOMES = new Set(['done', 'failed', 'cancelled', 'running']);

// in reading order, each with its depth: `{ id, name, group, begin, end, outcome, cause, depth }`. Times are milliseconds
// after the request's begin. Without an end it was still running when the request was reported: its group makes the
// request wait, or it outlives it.
export function tasksOf(span) {
  const listed = parse(tagOf(span, 'tasks'));
  const known = new Map(listed.map(each => [each.id, each]));
  const children = new Map();
  for (const task of listed) {
    const parent = known.has(task.parent) && task.parent !== task.id ? task.parent : 0;
    if (!children.has(parent)) children.set(parent, []);
    children.get(parent).push(task);
  }
  const found = [];
  const waiting = [...(children.get(0) ?? [])].reverse().map(task => ({ task, depth: 0 }));
  while (waiting.length > 0) {
    const { task, depth } = waiting.pop();
    found.push({ ...task, cause: withNames(task.cause, known), depth });
    children
      .get(task.id)
      ?.toReversed()
      .forEach(each => waiting.push({ task: each, depth: depth + 1 }));
  }
  return found;
}

// causes name tasks by their numbers
const withNames = (cause, known) =>
  cause.replace(/\btask (\d+)\b/g, (text, id) => (known.get(Number(id))?.name ? `“${known.get(Number(id)).name}”` : text));

function parse(text) {
  let found;
  try {
    found = JSON.parse(text);
  } catch {
    return []; // no such tag, or one that was cut
  }
  if (!Array.isArray(found)) return [];
  return found
    .filter(each => Number.isInteger(each?.id) && each.id > 0 && Number.isFinite(each.begin))
    .map(each => ({
      id: each.id,
      parent: each.parent ?? 0,
      name: String(each.name ?? ''),
      group: String(each.group ?? ''),
      begin: each.begin,
      end: Number.isFinite(each.end) ? each.end : null,
      outcome: OUTCOMES.has(each.outcome) ? each.outcome : Number.isFinite(each.end) ? 'done' : 'outlived',
      cause: String(each.cause ?? ''),
    }))
    .sort((one, other) => one.begin - other.begin || one.id - other.id);
}
