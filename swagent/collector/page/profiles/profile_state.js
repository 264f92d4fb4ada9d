// How far a profile is, in words.
import { clock, plural } from '../parts/format.js';

export const BADGES = {
  waiting: ['waiting', 'warn'],
  running: ['running', 'busy'],
  finished: ['done', ''],
  missed: ['not taken', 'error'],
  elsewhere: ['made elsewhere', ''],
};

export function sentence(task) {
  const requests = plural(task.segments.length, 'request');
  const takers = Object.keys(task.taken ?? {}).length;
  const taken = takers === 1 ? '1 process' : `${takers} processes`;
  switch (task.state) {
    case 'waiting':
      return task.asking
        ? `Waiting until an agent of ${task.service} asks. They ask every 20 s; under “swagent run”, with the collector on the same machine, every 2 s.`
        : `No agent of ${task.service} has asked for profiles yet. They do so over gRPC only.`;
    case 'running':
      return `Taken by ${taken}. Send requests to ${task.endpoint} until ${clock(endOf(task), false)}. ${requests} followed so far.`;
    case 'finished':
      return task.segments.length > 0
        ? `Over. ${requests} followed.`
        : 'Over, and no stacks have come. Was there a request meanwhile, and did it take longer than 10 ms?';
    case 'missed':
      return `No agent of ${task.service} asked in time. They ask over gRPC only, and with SW_AGENT_PROFILE_ACTIVE.`;
    default:
      return `Made at another collector. ${requests} followed.`;
  }
}

const endOf = task => Math.max(...Object.values(task.taken)) + task.seconds * 1000;

// there is something to gain by another try
export const isOver = task => task.state === 'finished' || task.state === 'missed';
