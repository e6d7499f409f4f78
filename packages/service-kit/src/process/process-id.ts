/**
 * Names this process so that another one on the same machine can tell whether it has ended: by the boot and the PID
 * namespace, and in these by its pid and the time when it started. Only Linux shows these, in `/proc`.
 */

import { createHash, randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

interface Parts {
  /** A digest of the host's name and machine id; empty without a machine id. */
  host: string;
  boot: string;
  namespace: string;
  pid: string;
  startedAt: string;
}

/** 'unknown' if the process runs on another machine, or if the system does not show it. */
export type ProcessState = 'running' | 'ended' | 'unknown';

/** Differs at each call. Contains only letters, digits and points. */
export function createProcessId(): string {
  const own = readOwn();
  const unique = randomUUID().replaceAll('-', '');
  if (own === undefined) return unique;
  const { host, boot, namespace, pid, startedAt } = own;
  return [host, boot, namespace, pid, startedAt, unique.slice(0, 8)].join('.');
}

export function stateOfProcess(id: string): ProcessState {
  const own = readOwn();
  const [host, boot, namespace, pid = '', startedAt, unique] = id.split('.');
  if (own === undefined || unique === undefined) return 'unknown';
  // The machine has started again since.
  if (boot !== own.boot) return host !== '' && host === own.host ? 'ended' : 'unknown';
  if (namespace !== own.namespace) return 'unknown';
  const start = startOf(pid);
  if (start !== undefined) return start === startedAt ? 'running' : 'ended';
  return exists(pid) ? 'unknown' : 'ended';
}

function readOwn(): Parts | undefined {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').replaceAll('-', '').trim();
    const namespace = readlinkSync('/proc/self/ns/pid').replaceAll(/\D/g, '');
    const pid = String(process.pid);
    const startedAt = startOf(pid);
    return startedAt === undefined ? undefined : { host: readHost(), boot, namespace, pid, startedAt };
  } catch {
    return undefined;
  }
}

function readHost(): string {
  try {
    const machineId = readFileSync('/etc/machine-id', 'utf8').trim();
    if (machineId === '') return '';
    return createHash('sha256').update(`${machineId} ${hostname()}`).digest('hex').slice(0, 16);
  } catch {
    return '';
  }
}

/** In ticks since the boot; empty for a process that has ended but was not reaped; undefined if it is not shown. */
function startOf(pid: string): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses can contain anything. The third field follows it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state = ''] = fields;
    return 'ZXx'.includes(state) ? '' : fields[22 - 3];
  } catch {
    return undefined;
  }
}

/** `/proc` can hide the processes of other users. */
function exists(pid: string): boolean {
  try {
    process.kill(Number(pid), 0);
    return true;
  } catch (err) {
    return (err as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
