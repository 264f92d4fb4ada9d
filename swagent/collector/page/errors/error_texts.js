// How a group of errors is named.

// without the packages: shop.errors.OutOfStock is known by its last part
export const shortKind = kind => kind.replace(/^.*[./:](?=[^./:])/, '') || kind;

export function titleOf(group) {
  if (group.kind) return shortKind(group.kind);
  return group.status ? `Status ${group.status}` : 'Failed';
}

// the end of a path says the most
export function placeOf({ file, line, function: name, operation }) {
  if (!file) return operation || '(unnamed)';
  const short = file.split(/[/\\]/).slice(-2).join('/');
  return `${name || '(module)'} in ${short}${line ? `:${line}` : ''}`;
}

// the term that the traces are searched for
export const termOf = kind => `error:${/[\s"\\*]/.test(kind) ? `"${kind.replace(/["\\]/g, '\\$&')}"` : kind}`;
