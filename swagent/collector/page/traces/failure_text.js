// What failed in a trace, in few words: where it began, not each span that it came through; pure.
import { plural } from '../parts/format.js';

// `{ text, failed }`: empty where nothing failed; failed: a request did because of it
export function failureText({ errors, failure }) {
  if (errors === 0) return { text: '', failed: false };
  if (!failure) return { text: plural(errors, 'error'), failed: true };
  const { count, kind, status, service, is_handled: isHandled } = failure;
  const name = kind.split('.').at(-1) || status || 'error';
  const more = count > 1 ? ` and ${count - 1} more` : '';
  return { text: `${name} in ${service}${more}${isHandled ? ', handled' : ''}`, failed: !isHandled };
}
