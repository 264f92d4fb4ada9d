// The readable names of the meters of the runtime and of the agent, and their units.
import { count, duration, short } from '../parts/format.js';

export const percentage = value => `${short(value)} %`;
export const megabytes = bytes => `${short(bytes / 1e6)} MB`;
const KNOWN = {
  instance_pvm_process_cpu_utilization: ['CPU of the process', percentage],
  instance_pvm_total_cpu_utilization: ['CPU of the machine', percentage],
  instance_pvm_process_mem_utilization: ['Memory of the process', percentage],
  instance_pvm_total_mem_utilization: ['Memory of the machine', percentage],
  instance_pvm_thread_active_count: ['Threads', count],
  instance_pvm_gc_g0: ['Collections, generation 0', short],
  instance_pvm_gc_g1: ['Collections, generation 1', short],
  instance_pvm_gc_g2: ['Collections, generation 2', short],
  instance_pvm_gc_time: ['Time in the garbage collector', duration],
  swagent_memory: ['Memory of the process', megabytes],
  swagent_tasks: ['Tasks in the event loop', count],
  loop_blocked: ['Event loop held', duration],
  swagent_loop_lag: ['Lag of the event loop', duration],
  swagent_delivery_latency: ['From record to confirmation', duration],
  swagent_records_offered: ['Records offered', short],
  swagent_records_confirmed: ['Records confirmed', short],
  swagent_records_queued: ['Records queued', short],
  swagent_records_in_flight: ['Records in flight', short],
  swagent_records_spilled: ['Records on disk', short],
  swagent_records_recovered: ['Records found on disk at the start', short],
  swagent_records_refused: ['Records refused', short],
  swagent_records_dropped: ['Records dropped', short],
};

export function meterTitle(name) {
  return KNOWN[name]?.[0] ?? name;
}

// may go down again, even where it has not done so yet
export const isLevel = name => /(_utilization|_active_count|_memory|_tasks|_lag|_queued|_in_flight|_spilled)$/.test(name);

export function meterFormat(meter) {
  if (KNOWN[meter.name]) return KNOWN[meter.name][1];
  return /(_ms|_millis|_milliseconds|duration|latency|_time)$/.test(meter.name) ? duration : short;
}

const ORDER = [
  'instance_pvm_process_cpu_utilization',
  'swagent_memory',
  'instance_pvm_process_mem_utilization',
  'swagent_loop_lag',
  'loop_blocked',
  'swagent_tasks',
  ...Object.keys(KNOWN),
];

export function byImportance(one, other) {
  const place = meter => (ORDER.includes(meter.name) ? ORDER.indexOf(meter.name) : -1);
  return place(one) - place(other) || one.name.localeCompare(other.name);
}

export function meterGroup(name) {
  if (
    name.startsWith('instance_') ||
    name === 'loop_blocked' ||
    name === 'swagent_tasks' ||
    name === 'swagent_memory' ||
    name.startsWith('swagent_loop') ||
    name.startsWith('swagent_gc')
  )
    return 'Runtime';
  return name.startsWith('swagent_') ? 'The agent itself' : 'Application';
}
