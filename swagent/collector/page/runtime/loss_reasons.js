// Why agents lose records, in words, and what to change. The names are those of the agent's ledger.
const BOUND = {
  segment: 'SW_AGENT_TRACE_REPORTER_MAX_BUFFER_SIZE',
  log: 'SW_AGENT_LOG_REPORTER_MAX_BUFFER_SIZE',
  profile: 'SW_AGENT_PROFILE_SNAPSHOT_TRANSPORT_BUFFER_SIZE',
};
const LESS = {
  segment: ['Sample with', 'SW_SAMPLE_N_PER_3_SECS'],
  log: ['Report fewer levels with', 'SW_AGENT_LOG_REPORTER_LEVEL'],
  meter: ['Report less often with', 'SW_AGENT_METER_REPORTER_PERIOD'],
};

const SPILLED = new Set(['segment', 'log']);

// [verb, setting] pairs for the signal
const room = signal => [BOUND[signal] && ['Raise', BOUND[signal]], LESS[signal]].filter(Boolean);

export const REASONS = {
  refused: {
    full: {
      text: 'the queue was full',
      settings: signal => [...room(signal), ...(SPILLED.has(signal) ? [['or spill to disk with', 'SW_AGENT_SPILL']] : [])],
    },
    shed: {
      text: 'ordinary segments, dropped to leave room for errors and slow requests',
      settings: signal => [
        ...room(signal),
        ['or drop none before the queue is full with', 'SW_AGENT_TRACE_REPORTER_SHEDDING'],
      ],
    },
    too_large: {
      text: 'too large for one message',
      settings: signal => (signal === 'segment' ? [['Lower', 'SW_AGENT_SPAN_LIMIT_PER_SEGMENT']] : []),
      hint: 'Record less in one: the limits are in the contract.',
    },
    encode_error: {
      text: 'could not be encoded',
      settings: () => [['What went wrong is in the log of the agent:', 'SW_AGENT_LOGGING_LEVEL']],
    },
    disabled: {
      text: 'the signal was given up after five crashes in a minute',
      settings: () => [['What crashed is in the log of the agent:', 'SW_AGENT_LOGGING_LEVEL']],
    },
    forked: { text: 'recorded in a forked child', hint: 'Start an agent in each child: swagent run does so.' },
    shutdown: { text: 'recorded after the agent had stopped', hint: 'Stop the agent last.' },
  },
  dropped: {
    rejected: {
      text: 'the collector said no',
      settings: () => [['If it asks for a token, set', 'SW_AGENT_AUTHENTICATION']],
      hint: 'The log of the agent has the answer.',
    },
    ambiguous: {
      text: 'sent, and never answered: may have arrived',
      settings: () => [
        ['Wait longer with', 'SW_AGENT_REQUEST_TIMEOUT'],
        ['or send again, with duplicates, by', 'SW_AGENT_DELIVERY'],
      ],
    },
    expired: {
      text: 'waited too long for a collector',
      settings: () => [['Name another collector in', 'SW_AGENT_COLLECTOR_BACKEND_SERVICES']],
    },
    evicted: { text: 'pushed out by newer records', settings: room },
    shutdown: {
      text: 'left over when the time to stop was up',
      settings: () => [['Raise', 'SW_AGENT_SHUTDOWN_TIMEOUT']],
    },
    internal: {
      text: 'a fault in the agent',
      settings: () => [['What went wrong is in the log of the agent:', 'SW_AGENT_LOGGING_LEVEL']],
    },
  },
};

export function reasonOf(kind, reason, signal) {
  const found = REASONS[kind]?.[reason];
  if (!found) return { text: '', settings: [], hint: '' };
  return { text: found.text, settings: found.settings?.(signal) ?? [], hint: found.hint ?? '' };
}
