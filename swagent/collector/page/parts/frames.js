// A Python stack as exceptions and frames; pure.
const FRAME = /^\s*File "(.+)", line (\d+)(?:, in (.+))?$/;
const HEAD = /^Traceback \(most recent call last\):$/;
const LINKS = new Map([
  ['The above exception was the direct cause of the following exception:', 'caused by'],
  ['During handling of the above exception, another exception occurred:', 'while handling'],
]);
// the folder of packages may be within that of the standard library
const LIBRARIES = [
  /[\\/](?:site|dist)-packages[\\/]([^\\/]+)/,
  /[\\/]lib(?:64)?[\\/]python\d[\d.]*[\\/]([^\\/]+)/i,
  /^<(?:frozen )?(.+)>$/,
  // the agent, where it is installed from a checkout
  /[\\/](swagent)[\\/](?:asgi|instrument|opentelemetry|profile|record|runtime|wsgi)[\\/]/,
];

// The exceptions of a stack, the last one first, each `{ title, link, frames }` with the innermost frame first. `link`
// says how it is tied to the one behind it. Nothing where the text is no such stack, or one of a group of exceptions.
export function parseStack(text) {
  const lines = text.split('\n');
  if (lines.some(line => /^\s*[|+]/.test(line))) return null;
  const found = [];
  let current = begin('');
  for (const line of lines) {
    const link = LINKS.get(line.trim());
    if (link) {
      found.push(current);
      current = begin(link);
    } else read(line, current);
  }
  found.push(current);
  const whole = found.filter(each => each.frames.length > 0 || each.title);
  if (!whole.some(each => each.frames.length > 0)) return null;
  return whole
    .reverse()
    .map(each => ({ ...each, title: each.title.trim(), frames: each.frames.toReversed() }));
}

const begin = link => ({ title: '', link, frames: [] });

function read(line, exception) {
  const [, file, number, name = ''] = FRAME.exec(line) ?? [];
  const last = exception.frames.at(-1);
  if (file) {
    const library = libraryOf(file);
    exception.frames.push({ file, line: Number(number), name, source: '', library });
  } else if (last && !exception.title && /^\s/.test(line) && line.trim()) {
    // the source line; below it Python points at a part of it
    if (!last.source && !/^[\s^~]+$/.test(line)) last.source = line.trim();
  } else if (!HEAD.test(line) && line.trim() !== '…' && (line.trim() || exception.title)) {
    exception.title += `${exception.title ? '\n' : ''}${line}`;
  }
}

// whose code it is, where it is not the application's
function libraryOf(file) {
  const [, name] = LIBRARIES.map(each => each.exec(file)).find(Boolean) ?? [];
  return name ? name.replace(/\.py$/, '') : '';
}

// neighbouring frames: each run is of the application's own, or of libraries
export function runsOf(frames) {
  const runs = [];
  for (const frame of frames) {
    const isLibrary = frame.library !== '';
    if (runs.at(-1)?.isLibrary !== isLibrary) runs.push({ isLibrary, frames: [] });
    runs.at(-1).frames.push(frame);
  }
  return runs;
}

// the last two parts of a path say most; the whole is in the title
export const shortPath = file => file.split(/[\\/]/).slice(-2).join('/');
