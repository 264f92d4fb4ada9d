// Reads the text of a stack into exceptions and their frames. The one that was seen comes first, then what caused it.
const PYTHON_FRAME = /^\s*File "([^"]+)", line (\d+)(?:, in (.+))?$/;
const CALLED_FRAME = /^\s*at (?:async )?(?:(.+?) ?\()?([^()]*?)(?::(\d+))?(?::\d+)?\)?$/;
const PYTHON_LINKS = [
  ['The above exception was the direct cause of the following exception:', 'caused by'],
  ['During handling of the above exception, another exception occurred:', 'raised while handling'],
];
const LIBRARY_FILE =
  /(?:^|[/\\])(?:site-packages|dist-packages|node_modules|lib[/\\]python\d[.\d]*)[/\\]|^<|^node:/;
const LIBRARY_NAME =
  /^(?:java|javax|jdk|sun|com\.sun|jakarta|kotlin|kotlinx|scala|groovy|org\.springframework|org\.apache|org\.hibernate|org\.eclipse|org\.jboss|io\.netty|io\.undertow|reactor)\./;

/* [{title, how, frames: [{file, line, function, source, library}]}]: the frame that raised comes first;
   `how` it led to the one before: '' for the first */
export function readStack(text, title = '') {
  const lines = text.slice(-200_000).split('\n');
  return lines.some(line => PYTHON_FRAME.test(line)) ? readPython(lines, title) : readCalled(lines, title);
}

function readPython(lines, title) {
  const blocks = [];
  let block = { title: '', how: '', frames: [] };
  for (const line of lines) {
    const way = PYTHON_LINKS.find(([words]) => line.trim() === words);
    const frame = way ? null : PYTHON_FRAME.exec(line);
    if (way) {
      blocks.push({ ...block, how: way[1] });
      block = { title: '', how: '', frames: [] };
    } else if (frame) block.frames.push(frameOf(frame[1], frame[2], frame[3]));
    else if (/^\s+\S/.test(line)) addSource(block.frames.at(-1), line.trim());
    else if (line.trim() && !line.startsWith('Traceback ') && line !== '…') block.title += `${block.title && '\n'}${line}`;
  }
  blocks.push({ ...block, title: block.title || title });
  return blocks.reverse().map(each => ({ ...each, frames: each.frames.reverse() }));
}

// what marks a part of the source line, as in ^^^^^, is no source
function addSource(frame, text) {
  if (frame && !frame.source && !/^[\^~]+$/.test(text)) frame.source = text;
}

function readCalled(lines, title) {
  const blocks = [{ title: '', how: '', frames: [] }];
  for (const line of lines) {
    const caused = /^\s*(Caused by|Suppressed): (.*)$/.exec(line);
    const frame = caused ? null : CALLED_FRAME.exec(line);
    if (caused) blocks.push({ title: caused[2], how: caused[1].toLowerCase(), frames: [] });
    else if (frame) blocks.at(-1).frames.push(frameOf(frame[2], frame[3], frame[1]));
    else if (line.trim() && blocks.at(-1).frames.length === 0)
      blocks.at(-1).title += `${blocks.at(-1).title && '\n'}${line}`;
  }
  blocks[0].title ||= title;
  return blocks;
}

const frameOf = (file, line, name) => ({
  file,
  line: Number(line ?? 0),
  function: name ?? '',
  source: '',
  library: LIBRARY_FILE.test(file) || LIBRARY_NAME.test(name ?? ''),
});

// runs of library frames as one: [{library, frames}]
export function folded(frames) {
  const runs = [];
  for (const frame of frames) {
    if (frame.library && runs.at(-1)?.library) runs.at(-1).frames.push(frame);
    else runs.push({ library: frame.library, frames: [frame] });
  }
  return runs;
}
