// What failed in a trace, in few words: where it began, not each span that it came through; pure.
import { plural } from '../parts/format.js';

// empty where nothing failed
export function failureText({ errors, failure }) {
  if (errors === 0) return '';
  if (!failure) return plural(errors, 'error');
  const { count, kind, status, service, is_handled: isHandled } = failure;
  const name = kind.split('.').at(-1) || status || 'error';
  const more = count > 1 ? ` and ${count - 1} more` : '';
  return `${name} in ${service}${more}${isHandled ? ', handled' : ''}`;
}
