/** Explains to the operator why a service did not start. */

import { HubError } from '../call/error.ts';
import { SettingsError } from './settings.ts';
import type { SettingName } from './settings-table.ts';

const storeHint = 'DATAHUB_STORE_URL sets where documents are stored; the default is DATAHUB_DATA_DIR.';

/**
 * Faults of the machine, the store or a file get a few lines with the setting to check. Only unexpected errors show their
 * stack.
 */
export function describeStartFailure(err: unknown): string {
  if (err instanceof SettingsError) return err.message;
  if (err instanceof HubError) {
    return [...messagesOf(err), ...(err.code === 'UNAVAILABLE' ? [storeHint] : [])].join('\n');
  }
  if (!(err instanceof Error)) return String(err);
  // MongoDB's driver reports an invalid URL with its own errors, which do not contain the password.
  if (err.name.startsWith('Mongo')) return `${err.message}\n${storeHint}`;
  const { syscall } = err as NodeJS.ErrnoException;
  return syscall === undefined ? (err.stack ?? err.message) : `${err.message}\n${storeHint}`;
}

/** A failed `listen`, as a fault of the settings that name the address. gRPC's errors have no code, only a message. */
export function cannotListen(portSetting: SettingName, err: unknown): SettingsError {
  const { message } = err as Error;
  if (message.includes('EADDRINUSE')) {
    return new SettingsError([
      `${portSetting}: another program uses this port (${message}). Stop it, or set ${portSetting} to another port.`,
    ]);
  }
  if (message.includes('EACCES')) {
    return new SettingsError([
      `${portSetting}: this user may not use this port (${message}). Set ${portSetting} to a port above 1023.`,
    ]);
  }
  return new SettingsError([`HOST and ${portSetting}: ${message}`]);
}

const causesMax = 5;

/** The distinct messages of the error and its causes. */
function messagesOf(err: Error): string[] {
  const messages = new Set<string>();
  for (let next: unknown = err; next instanceof Error && messages.size < causesMax; next = next.cause) {
    messages.add(next.message);
  }
  return [...messages];
}
