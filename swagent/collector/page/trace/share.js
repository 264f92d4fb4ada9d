// Of which whole a span's time is a part; pure.
import { headOf } from './critical_path.js';

// A span of the request is a part of it; one of the messaging that follows, or of work afterwards, is a part of the trace.
export function shareOf(span, trace) {
  const head = headOf(trace);
  const isOfRequest = trace.after > 0 && head && span.start >= head.start && span.end <= head.end;
  const whole = isOfRequest ? head.end - head.start : trace.duration + trace.after;
  const share = Math.min(1, (span.end - span.start) / Math.max(1, whole));
  return { of: isOfRequest ? 'Of the request' : 'Of the trace', percent: Math.round(share * 100) };
}
