/** A short note at the bottom of the window, read out by screen readers. */

import { signal } from '@preact/signals';

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
