// The moments that a user marked: kept in this browser, the newest first.
const KEY = 'swagent-marks';
const MOST = 8;

export function marks() {
  try {
    const found = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    return Array.isArray(found) ? found.filter(Number.isSafeInteger).slice(0, MOST) : [];
  } catch {
    return []; // storage is forbidden, or holds something else
  }
}

export function addMark(time) {
  const kept = [time, ...marks().filter(each => each !== time)].slice(0, MOST);
  try {
    localStorage.setItem(KEY, JSON.stringify(kept));
  } catch {
    // then the address has it, and nothing else
  }
}
