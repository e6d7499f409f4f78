/** The processes of a hub with several workers, by Linux's list of children. */

import { readFileSync } from 'node:fs';

export interface WorkerProcesses {
  owner: number[];
  workers: number[];
}

/** Of the supervisor with the process id `pid`. */
export function processesOf(pid: number): WorkerProcesses {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
  const running = (name: string) =>
    children.map(Number).filter((child) => commandOf(child).includes(`/workers/${name}.ts`));
  return { owner: running('owner'), workers: running('worker') };
}

/** Empty if the process has ended. */
function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
