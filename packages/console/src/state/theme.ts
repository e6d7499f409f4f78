/** Light, dark, or as the system has it. */

import { computed, effect, signal } from '@preact/signals';
import { ofBrowser } from '../api/storage.ts';

export type Theme = 'system' | 'light' | 'dark';
const storedAs = 'datahub.theme';
const system = matchMedia('(prefers-color-scheme: dark)');

const stored = ofBrowser.get(storedAs);
export const theme = signal<Theme>(stored === 'light' || stored === 'dark' ? stored : 'system');
const systemIsDark = signal(system.matches);
system.addEventListener('change', ({ matches }) => {
  systemIsDark.value = matches;
});

export const isDark = computed(
  () => theme.value === 'dark' || (theme.value === 'system' && systemIsDark.value),
);

effect(() => {
  document.documentElement.dataset.theme = isDark.value ? 'dark' : 'light';
});

export function setTheme(next: Theme): void {
  theme.value = next;
  if (next === 'system') ofBrowser.remove(storedAs);
  else ofBrowser.set(storedAs, next);
}
