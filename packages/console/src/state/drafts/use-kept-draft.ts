/** Keeps what a page edits in the browser while it is edited, and brings it back when the page opens again. */

import { effect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { currentKey } from '../permissions.ts';
import { type DraftPlace, dropDraft, type KeptDraft, keepDraft, openDraft } from './draft-store.ts';

/** Typing is kept when it pauses so long. */
const pauseMs = 300;

export type DraftContent = Pick<KeptDraft, 'label' | 'draft' | 'base'>;

interface Keeping {
  hubId: string;
  page: string;
  /** What is edited; undefined if nothing is. Reads signals. */
  content(): DraftContent | undefined;
  resume(kept: KeptDraft): void;
}

/** Makes the browser ask before it closes a tab with changes that it does not keep. */
export function useKeptDraft({ hubId, page, content, resume }: Keeping): void {
  const keyId = currentKey.value?.keyId;
  /** The content that the browser keeps. */
  const kept = useRef<string | undefined>(undefined);
  useEffect(() => {
    const warn = (event: Event) => {
      const edited = content();
      if (edited !== undefined && JSON.stringify(edited) !== kept.current) event.preventDefault();
    };
    addEventListener('beforeunload', warn);
    return () => removeEventListener('beforeunload', warn);
  }, [page]);
  useEffect(() => {
    if (keyId === undefined) return;
    const place: DraftPlace = { keyId, hubId, page };
    let stop = () => {};
    let isOpen = true;
    void openDraft(place).then((found) => {
      if (!isOpen) return;
      if (found !== undefined) {
        kept.current = '';
        resume(found);
      }
      stop = keepWhileEdited(place, content, kept);
    });
    return () => {
      isOpen = false;
      stop();
    };
  }, [keyId, hubId, page]);
}

function keepWhileEdited(
  place: DraftPlace,
  content: Keeping['content'],
  kept: { current?: string | undefined },
): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let wanted: DraftContent | undefined;
  const write = async () => {
    clearTimeout(timer);
    timer = undefined;
    const text = wanted && JSON.stringify(wanted);
    if (text === kept.current) return;
    kept.current = text;
    if (wanted === undefined) await dropDraft(place);
    else if (!(await keepDraft({ ...place, ...wanted, at: Date.now() }))) kept.current = undefined;
  };
  const writeNow = () => void write();
  const stop = effect(() => {
    wanted = content();
    timer ??= setTimeout(writeNow, pauseMs);
  });
  addEventListener('pagehide', writeNow);
  return () => {
    stop();
    removeEventListener('pagehide', writeNow);
    writeNow();
  };
}
