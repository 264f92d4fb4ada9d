// Names as they fit into the boxes of the map: by their width, since ten letters may be twice as wide as ten others.
const FONT = '620 13.5px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", sans-serif'; // .node-name
const graphemes = new Intl.Segmenter(); // letters as they are seen: half of an emoji is none
const known = new Map();
const MOST = 2000; // names that are remembered
let pen = null;

function widthOf(text) {
  pen ??= new OffscreenCanvas(1, 1).getContext('2d');
  pen.font = FONT;
  return pen.measureText(text).width;
}

export function cutToWidth(name, room) {
  const key = `${room} ${name}`;
  if (!known.has(key)) {
    if (known.size > MOST) known.clear();
    known.set(key, cut(name, room, widthOf));
  }
  return known.get(key);
}

// as much of the begin as fits before an ellipsis, by bisection
export function cut(name, room, width) {
  if (width(name) <= room) return name;
  const letters = [...graphemes.segment(name.slice(0, 500))].map(each => each.segment);
  let [fits, tooLong] = [0, letters.length];
  while (tooLong - fits > 1) {
    const middle = (fits + tooLong) >> 1;
    if (width(`${letters.slice(0, middle).join('')}…`) <= room) fits = middle;
    else tooLong = middle;
  }
  return `${letters.slice(0, fits).join('')}…`;
}
