// Which curves a process has, and how its meters become them.
import { count, duration } from '../parts/format.js';
import { megabytes, percentage } from './meter_names.js';

const MOST = 6; // curves of one chart

export function memoryOf(now) {
  if (now.swagent_memory !== undefined) return megabytes(now.swagent_memory);
  const part = now.instance_pvm_process_mem_utilization;
  return part === undefined ? '–' : percentage(part);
}

// how large an axis is at least, so that a small noise stays one
const CHARTS = [
  { title: 'Loop lag', hint: 'by how much a timer was late', format: duration, least: 10, of: level('swagent_loop_lag') },
  { title: 'Loop held', hint: 'by what, in each report', format: duration, least: 100, of: growth('loop_blocked') },
  { title: 'Tasks', format: count, least: 4, of: level('swagent_tasks') },
  { title: 'Garbage collection', hint: 'time in each report', format: duration, least: 10, of: growth('instance_pvm_gc_time') },
  { title: 'Memory', format: megabytes, least: 1e6, of: level('swagent_memory') },
  {
    title: 'Memory',
    hint: 'share of the machine',
    format: percentage,
    least: 5,
    of: curves => (curves.has('swagent_memory') ? [] : level('instance_pvm_process_mem_utilization')(curves)),
  },
  { title: 'CPU', hint: 'of one core', format: percentage, least: 10, of: level('instance_pvm_process_cpu_utilization') },
  { title: 'Threads', format: count, least: 4, of: level('instance_pvm_thread_active_count') },
  { title: 'Queue', hint: 'records that wait', format: count, least: 10, of: filled(level('swagent_records_queued')) },
  {
    title: 'Lost records',
    hint: 'in each report',
    format: count,
    least: 4,
    of: curves => filled(all => [...growth('swagent_records_dropped')(all), ...growth('swagent_records_refused')(all)])(curves),
  },
];

// the charts that have something to show; `curves`: by the name of a meter
export function chartsOf(meters) {
  const curves = new Map(meters.map(each => [each.name, each.series]));
  return CHARTS.map(({ of, ...chart }) => ({ ...chart, series: of(curves).slice(0, MOST) })).filter(
    each => each.series.length > 0,
  );
}

function level(name) {
  return curves =>
    (curves.get(name) ?? [])
      .filter(each => each.points.length > 0)
      .map(each => ({ label: labelOf(each.labels), points: each.points }));
}

// of a total that grows: by how much in each report. A total that begins late began at nothing.
function growth(name) {
  return curves => {
    const first = Math.min(...(curves.get('swagent_records_queued') ?? []).map(each => each.points[0]?.[0] ?? Infinity));
    return (curves.get(name) ?? [])
      .map(({ labels, points }) => ({ label: labelOf(labels), points: steps(points, points[0]?.[0] > first) }))
      .filter(each => each.points.length > 0)
      .sort((one, other) => total(other) - total(one));
  };
}

const total = series => series.points.reduce((sum, [, value]) => sum + value, 0);

function steps(points, isNew) {
  const found = points.slice(1).map(([time, value], index) => {
    const before = points[index][1];
    return [time, value < before ? value : value - before]; // less than before: it began anew
  });
  return isNew ? [points[0], ...found] : found;
}

// where all are at nothing one says so
function filled(of) {
  return curves => {
    const all = of(curves);
    const some = all.filter(each => each.points.some(([, value]) => value > 0));
    return some.length > 0 ? some : all.slice(0, 1).map(each => ({ ...each, label: 'all' }));
  };
}

// of a place in the code the file without its folders
function labelOf(labels) {
  return labels.frame?.split('/').pop() ?? ([labels.signal, labels.reason].filter(Boolean).join(' ') || 'value');
}
