/** Why a service did not start, in words for whoever runs it. */

import { HubError } from '../call/error.ts';
import { SettingsError } from './settings.ts';

const storeHint = 'DATAHUB_STORE_URL says where documents are kept; without it they are in DATAHUB_DATA_DIR.';

/**
 * What the machine, the store or a file refuses is said in a few lines and with the setting that names it; only what
 * nobody foresaw is shown with its stack.
 */
export function describeStartFailure(err: unknown): string {
  if (err instanceof SettingsError) return err.message;
  if (err instanceof HubError) {
    return [...messagesOf(err), ...(err.code === 'UNAVAILABLE' ? [storeHint] : [])].join('\n');
  }
  if (!(err instanceof Error)) return String(err);
  // The driver of MongoDB refuses a URL with errors of its own, which do not repeat the password.
  if (err.name.startsWith('Mongo')) return `${err.message}\n${storeHint}`;
  const { syscall } = err as NodeJS.ErrnoException;
  return syscall === undefined ? (err.stack ?? err.message) : `${err.message}\n${storeHint}`;
}

/** An address that cannot be listened on, as a fault of the settings that name it. */
export function cannotListen(portSetting: string, err: unknown): SettingsError {
  return new SettingsError([`HOST and ${portSetting}: ${(err as Error).message}`]);
}

const causesMax = 5;

/** The error's message and its causes', each once. */
function messagesOf(err: Error): string[] {
  const messages = new Set<string>();
  for (let next: unknown = err; next instanceof Error && messages.size < causesMax; next = next.cause) {
    messages.add(next.message);
  }
  return [...messages];
}
