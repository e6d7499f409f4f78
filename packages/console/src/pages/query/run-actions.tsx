/** Running a query. */

import type { ComponentChild } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { QueryEditor } from '../../state/query-editor.ts';
import type { StoredQueryEditor } from '../../state/stored-query-editor.ts';
import { RunDialog } from './run-dialog.tsx';
import { focusFault } from './variable-inputs.tsx';

export interface RunActions {
  /** True after a run was attempted with invalid values. */
  tried: boolean;
  /** True while the page asks before a write. */
  asking: boolean;
  dialog: ComponentChild;
  /** Runs what the page shows. If it writes, asks first. */
  ask(): void;
  /** Runs the query even if the hub has a cached result. */
  runFresh(): void;
}

export function useRun(editor: QueryEditor): RunActions {
  const [tried, setTried] = useState(false);
  const [asking, setAsking] = useState(false);
  const ask = () => {
    setTried(true);
    if (focusFault(editor)) return;
    if (editor.writes) setAsking(true);
    else void editor.run();
    // On a phone, the rows are below the statement and the variables.
    if (matchMedia('(max-width: 760px)').matches) document.querySelector('.results')?.scrollIntoView();
  };
  const dialog = asking && (
    <RunDialog
      editor={editor}
      onRun={(options) => void editor.run(options)}
      onClose={() => setAsking(false)}
    />
  );
  return { tried, asking, dialog, ask, runFresh: () => void editor.run({ fresh: true }) };
}

/** Reads the query again when the tab becomes visible. What the dialog shows stays: if it is outdated, the hub refuses it. */
export function useReread(editor: StoredQueryEditor, asking: boolean): void {
  useEffect(() => {
    const reread = () => {
      if (document.visibilityState !== 'visible') return;
      // Without an answer, the page shows what it has, and the hub refuses to run it if it is outdated.
      editor.load(asking ? { adopt: 'never' } : {}).catch(() => undefined);
    };
    document.addEventListener('visibilitychange', reread);
    return () => document.removeEventListener('visibilitychange', reread);
  }, [editor, asking]);
}

/** Ctrl+Enter and Ctrl+S work in all parts of the page. */
export function useShortcuts(ask: () => void, save: () => unknown): void {
  useEffect(() => {
    const keydown = (event: KeyboardEvent) => {
      if (
        !(event.ctrlKey || event.metaKey) ||
        event.defaultPrevented ||
        document.querySelector('dialog[open]')
      )
        return;
      if (event.key === 'Enter') ask();
      else if (event.key.toLowerCase() === 's') void save();
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', keydown);
    return () => removeEventListener('keydown', keydown);
  });
}
