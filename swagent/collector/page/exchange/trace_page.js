// A trace as one page that needs nothing else: no script, no request; it opens from a disk, years later. Pure.
import { colourClass } from '../parts/colours.js';
import { clock, count, day, duration, plural, roundDuration } from '../parts/format.js';
import { summaryOf } from '../trace/calls.js';
import { foldSiblings } from '../trace/folds.js';
import { childrenOf, rowsOf } from '../trace/span_tree.js';
import { axis, rangeOf } from '../trace/time_axis.js';

const POLICY = "default-src 'none'; style-src 'unsafe-inline'"; // whatever is in the data, nothing is loaded or run
const SIGNS = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const STEP = 14; // pixels that a level is to the right
const MOST_LEVELS = 18;
const LEAST = 0.3; // percent that a bar is wide

export const escape = text => String(text ?? '').replace(/[&<>"']/g, each => SIGNS[each]);

// trace, findings: as the API has them (findings may be nothing); styles: the text of its style sheets
export function tracePage(trace, findings, styles) {
  const name = trace.spans[0]?.operation || '(unnamed)';
  const scale = axis(rangeOf(trace));
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${escape(POLICY)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(`${name} · ${duration(trace.duration)}`)}</title>
<style>
${styles}
</style>
</head>
<body class="trace-file">
<header>
<h1 dir="auto">${escape(name)}</h1>
<p class="facts">${facts(trace)}</p>
${sentences(findings)}
</header>
<main>
<div class="axis" aria-hidden="true"><span></span><span class="time">${ticks(scale)}</span></div>
${rows(trace, scale)}
${lines(trace.logs)}
</main>
</body>
</html>
`;
}

function facts(trace) {
  const after = trace.after > 0 ? ` and ${duration(trace.after)} ${trace.is_messaging ? 'of messaging' : 'afterwards'}` : '';
  const zone = new Date(trace.start).toISOString();
  const texts = [
    `<b>${duration(trace.duration)}</b>${after}`,
    `<time datetime="${zone}">${day(trace.start)}, ${clock(trace.start)}</time>`,
    plural(trace.spans.length, 'span') + (trace.left_out > 0 ? `, ${count(trace.left_out)} more left out` : ''),
    `<code>${escape(trace.trace_id)}</code>`,
    ...trace.services.map(each => `<span class="service ${colourClass(each)}"><i class="dot"></i> ${escape(each)}</span>`),
  ];
  return texts.join(' · ');
}

function sentences(findings) {
  if (!findings) return '';
  const others = findings.findings.filter(each => each.sentence !== findings.culprit?.sentence);
  const all = [findings.culprit, ...others].filter(Boolean);
  return all.length > 0 ? `<ul class="sentences">${all.map(each => `<li>${escape(each.sentence)}</li>`).join('')}</ul>` : '';
}

const ticks = scale => scale.ticks.map(each => `<i style="left:${each.at.toFixed(2)}%">${roundDuration(each.value)}</i>`).join('');

// every span is in it; those that repeat are below a row that opens
function rows(trace, scale) {
  const children = childrenOf(trace.spans);
  const unfolded = new Set([...children.values()].flatMap(foldSiblings).filter(each => each.spans).map(each => each.id));
  const open = []; // the depths of the folds that are not closed yet
  let text = '';
  for (const row of rowsOf(children, { closed: new Set(), unfolded, only: null })) {
    while (open.length > 0 && row.depth <= open.at(-1)) {
      open.pop();
      text += '</div></details>\n';
    }
    if (row.fold) open.push(row.depth);
    text += row.fold ? foldRow(row, scale) : spanRow(row, scale);
  }
  return text + '</div></details>'.repeat(open.length);
}

function foldRow({ fold, depth }, scale) {
  const words = `×${count(fold.spans.length)}, ${duration(fold.took)}`;
  const head = rowHead({ span: fold.spans[0], depth, failed: fold.errors > 0, beside: ` <span class="beside">${words}</span>` });
  return `<details class="fold"><summary>${head}<span class="time">${bar(fold, fold.kind, scale, fold.took)}</span></summary>\n<div>`;
}

function spanRow({ span, depth }, scale) {
  const head = rowHead({ span, depth, failed: span.error, beside: '' });
  const time = bar(span, span.kind, scale, span.end - span.start);
  return `<details><summary>${head}<span class="time">${time}</span></summary>${details(span)}</details>\n`;
}

function rowHead({ span, depth, failed, beside }) {
  const summary = summaryOf(span);
  const indent = Math.min(depth, MOST_LEVELS) * STEP;
  return (
    `<span class="name ${colourClass(span.service)}${failed ? ' failed' : ''}" style="padding-left:${indent}px">` +
    `<i class="edge"></i> <b dir="auto">${escape(span.operation || '(unnamed)')}</b>` +
    `${summary && ` <span class="beside">${escape(summary)}</span>`}${beside}` +
    `${failed ? ' <span class="badge error">failed</span>' : ''} <span class="beside">${escape(span.service)}</span></span>`
  );
}

function bar({ start, end, service, spans }, kind, scale, took) {
  const left = scale.at(start);
  const width = Math.max(LEAST, scale.at(end) - left);
  const name = colourClass(service ?? spans[0].service);
  const place = `left:${left.toFixed(2)}%;width:${width.toFixed(2)}%`;
  return `<i class="bar ${escape(kind)} ${name}" style="${place}"></i><span class="took">${duration(took)}</span>`;
}

function details(span) {
  const pairs = [
    ['kind', `${span.kind}${span.layer && span.layer !== 'Unknown' ? `, ${span.layer}` : ''}`],
    ['service', span.service],
    ['instance', span.instance],
    ['component', span.component],
    ['peer', span.peer],
    ['start', clock(span.start)],
    ['duration', duration(span.end - span.start)],
    ...span.tags,
    ...span.logs.flatMap(log => [['at', clock(log.time)], ...log.fields]),
  ].filter(([, value]) => value);
  return `<dl>${pairs.map(([key, value]) => `<dt>${escape(key)}</dt><dd dir="auto">${escape(value)}</dd>`).join('')}</dl>`;
}

function lines(logs) {
  if (logs.length === 0) return '';
  const one = log => `<li><time>${clock(log.time)}</time> ${escape(log.level)} ${escape(log.service)} <span dir="auto">${escape(log.text)}</span></li>`;
  return `<h2>Log lines</h2>\n<ul class="log-lines">${logs.map(one).join('\n')}</ul>`;
}
