// The split of a request's time, in words; pure.
import { duration } from '../parts/format.js';

export function nameOf({ kind, what }) {
  switch (kind) {
    case 'before':
      return 'Waiting for the loop, before the application saw it';
    case 'running':
      return 'Running';
    case 'gc':
      return 'Garbage collection';
    case 'ready':
      return 'Waiting for the loop';
    case 'own':
      return 'Its own time';
    default:
      return what ? `Awaiting ${what}` : 'Awaiting something else';
  }
}

// one sentence: where most of it went
export function sentenceOf({ measured, total, parts }) {
  if (total <= 0 || parts.length === 0) return 'It took less than a millisecond.';
  const most = parts.reduce((one, other) => (other.ms > one.ms ? other : one));
  const share = `${duration(most.ms)} of ${duration(total)}`;
  switch (most.kind) {
    case 'before':
      return `For ${share} it waited for a blocked event loop, before the application saw it.`;
    case 'running':
      return `It ran for ${share}: its own code is what took time.`;
    case 'gc':
      return `The garbage collector took ${share}.`;
    case 'ready':
      return `For ${share} it was ready, and others had the event loop.`;
    case 'own':
      return `${share} are its own, outside of what it called.`;
    default:
      if (measured) return most.what ? `It awaited ${most.what} for ${share}.` : `It awaited something for ${share}.`;
      return `It waited for ${most.what} for ${share}.`;
  }
}
