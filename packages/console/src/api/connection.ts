/** Whether the hub answers. Without an answer, it is asked again until it does. */

import { signal } from '@preact/signals';

/** True from a call without an answer until the hub answers again. */
export const isLost = signal(false);
/** Counts how often the connection came back: what failed without an answer is read again. */
export const restored = signal(0);

const waitsMs = [1_000, 2_000, 4_000, 8_000, 15_000];
const timeoutMs = 5_000;
let timer: ReturnType<typeof setTimeout> | undefined;
let attempts = 0;

/** Called when a call got no answer. */
export function connectionLost(): void {
  if (isLost.value) return;
  isLost.value = true;
  attempts = 0;
  addEventListener('online', retryNow);
  retryLater();
}

/** Called when the hub answered. */
export function connectionWorks(): void {
  if (!isLost.value) return;
  clearTimeout(timer);
  removeEventListener('online', retryNow);
  isLost.value = false;
  restored.value++;
}

export function retryNow(): void {
  clearTimeout(timer);
  fetch(new URL('healthz', document.baseURI), {
    cache: 'no-store',
    signal: AbortSignal.timeout(timeoutMs),
  }).then(({ ok }) => (ok ? connectionWorks() : retryLater()), retryLater);
}

function retryLater(): void {
  clearTimeout(timer);
  timer = setTimeout(retryNow, waitsMs[Math.min(attempts++, waitsMs.length - 1)]);
}
