/** Notes that stand over every page: what was done, what is downloaded, and that the hub does not answer. */

import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { isLost, retryNow } from '../api/connection.ts';
import { limit } from '../api/rate.ts';
import { running } from '../state/downloads.ts';
import { openKey, shownKeys } from '../state/shown-keys.ts';
import { bytes, counted } from './format.ts';

const notice = signal('');
let timer: ReturnType<typeof setTimeout> | undefined;

export function notify(text: string): void {
  notice.value = text;
  clearTimeout(timer);
  timer = setTimeout(() => {
    notice.value = '';
  }, 4_000);
}

export const Notice = () => (
  <div class="notice" role="status" data-shown={notice.value !== ''}>
    {notice.value}
  </div>
);

/** Keys that nobody has confirmed as copied. The browser asks before it leaves them. */
export function UnconfirmedKeys() {
  const [key, ...more] = shownKeys.value;
  const isKept = key !== undefined;
  useEffect(() => {
    if (!isKept) return;
    const warn = (event: Event) => event.preventDefault();
    addEventListener('beforeunload', warn);
    return () => removeEventListener('beforeunload', warn);
  }, [isKept]);
  if (key === undefined || openKey.value !== undefined) return null;
  return (
    <div class="offline" role="status">
      <span>
        The key “{key.name}”{more.length > 0 && ` and ${more.length} more`} will not be shown again after you
        leave this tab.
      </span>
      <button
        type="button"
        onClick={() => {
          openKey.value = key;
        }}
      >
        Show the key
      </button>
    </div>
  );
}

/** Says that the hub does not answer, until it does. */
export const Connection = () =>
  isLost.value && (
    <div class="offline" role="alert">
      <span>The hub does not answer. What you see may be old; your changes are kept. Trying again …</span>
      <button type="button" onClick={retryNow}>
        Retry
      </button>
    </div>
  );

/** Says that the rate of the key is used up, and when it goes on. */
export function WaitingForRate() {
  const [, setTick] = useState(0);
  const waits = limit.value !== undefined;
  useEffect(() => {
    if (!waits) return;
    const ticking = setInterval(() => setTick((n) => n + 1), 1_000);
    return () => clearInterval(ticking);
  }, [waits]);
  if (limit.value === undefined) return null;
  const { perMinute, until } = limit.value;
  const seconds = Math.max(1, Math.ceil((until - performance.now()) / 1_000));
  const reason =
    perMinute === undefined
      ? 'The hub takes no more requests now.'
      : `This key may send ${counted(perMinute, 'request')} a minute.`;
  return (
    <div class="offline" role="status">
      {reason} It goes on in {counted(seconds, 'second')}.
    </div>
  );
}

/** The files that are being downloaded. */
export const RunningDownloads = () =>
  running.value.length > 0 && (
    <ul class="downloads" aria-label="Downloads">
      {running.value.map((one) => (
        <li key={one.name}>
          <span class="busy" aria-hidden="true" />
          <span class="row-label">{one.name}</span>
          <b>{bytes(one.bytes)}</b>
          <button type="button" onClick={one.cancel}>
            Cancel
          </button>
        </li>
      ))}
    </ul>
  );
