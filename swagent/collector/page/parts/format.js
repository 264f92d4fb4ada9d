// Numbers and times as people read them.
const grouped = new Intl.NumberFormat('en');
const two = number => String(number).padStart(2, '0');
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

export function count(number) {
  if (number === null || number === undefined) return '–';
  return Number.isInteger(number) ? grouped.format(number) : short(number);
}

// 12345 -> 12.3k: for narrow places
export function short(number) {
  const size = Math.abs(number);
  if (size >= 1e9) return `${trim(number / 1e9)}G`;
  if (size >= 1e6) return `${trim(number / 1e6)}M`;
  if (size >= 1e4) return `${trim(number / 1e3)}k`;
  return trim(number);
}

function trim(number) {
  const size = Math.abs(number);
  const digits = Number.isInteger(number) || size >= 100 ? 0 : size >= 10 ? 1 : 2;
  return grouped.format(Number(number.toFixed(digits)));
}

// a round one, beside an axis: 1000 -> 1 s, 90000 -> 1.5 min
export function roundDuration(ms) {
  for (const { unit, size } of [
    { unit: 'h', size: 3_600_000 },
    { unit: 'min', size: 60_000 },
    { unit: 's', size: 1000 },
  ]) {
    if (ms >= size) return `${grouped.format(Number((ms / size).toFixed(2)))} ${unit}`;
  }
  return `${grouped.format(Number(ms.toFixed(3)))} ms`;
}

export function duration(ms) {
  if (ms === null || ms === undefined) return '–';
  if (ms < 1) return ms > 0 ? `${ms.toFixed(2)} ms` : '0 ms';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1000).toFixed(2)} s`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${two(Math.floor((ms % 60_000) / 1000))} s`;
  return `${Math.floor(ms / 3_600_000)} h ${two(Math.floor((ms % 3_600_000) / 60_000))} min`;
}

export function clock(time, millis = true) {
  const date = new Date(time);
  const text = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  return millis ? `${text}.${String(date.getMilliseconds()).padStart(3, '0')}` : text;
}

// the day is shown only when it is not today
export function moment(time, millis = true) {
  return isToday(time) ? clock(time, millis) : `${day(time)}, ${clock(time, millis)}`;
}

// where there is little room: the day instead of the fractions of a second
export function briefMoment(time, millis = true) {
  return isToday(time) ? clock(time, millis) : `${day(time)} ${clock(time, false)}`;
}

export function day(time) {
  const date = new Date(time);
  return `${MONTHS[date.getMonth()]} ${date.getDate()}`;
}

const isToday = time => new Date(time).toDateString() === new Date().toDateString();

export function ago(time, now = Date.now()) {
  const seconds = Math.max(0, Math.round((now - time) / 1000));
  if (seconds < 2) return 'now';
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86_400)} d ago`;
}

// a length of time that a user chose: 3600 -> 1 h
export function age(seconds) {
  for (const { unit, size } of [
    { unit: 'd', size: 86_400 },
    { unit: 'h', size: 3600 },
    { unit: 'min', size: 60 },
  ]) {
    if (seconds >= size && seconds % size === 0) return `${seconds / size} ${unit}`;
  }
  return duration(seconds * 1000);
}

export function percent(ratio) {
  if (!ratio) return '0 %';
  const value = ratio * 100;
  if (value < 0.1) return '< 0.1 %';
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} %`;
}

export function plural(number, noun) {
  return `${count(number)} ${noun}${number === 1 ? '' : 's'}`;
}
