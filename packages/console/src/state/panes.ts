/** The sizes of the panes of a query, and whether its tables are open. They outlive the tab. */

import { signal } from '@preact/signals';
import { ofBrowser } from '../api/storage.ts';

const storedAs = 'datahub.panes';

export interface Panes {
  /** In pixels; undefined for the usual height. */
  statementHeight?: number | undefined;
  variablesWidth?: number | undefined;
  tables?: boolean;
}

export const panes = signal<Panes>(read());

function read(): Panes {
  try {
    const stored = JSON.parse(ofBrowser.get(storedAs) ?? '{}') as Record<string, unknown> | null;
    const { statementHeight, variablesWidth, tables } = stored ?? {};
    return {
      ...(typeof statementHeight === 'number' ? { statementHeight } : {}),
      ...(typeof variablesWidth === 'number' ? { variablesWidth } : {}),
      tables: tables === true,
    };
  } catch {
    return {};
  }
}

export function setPanes(change: Panes): void {
  panes.value = { ...panes.value, ...change };
  ofBrowser.set(storedAs, JSON.stringify(panes.value));
}
