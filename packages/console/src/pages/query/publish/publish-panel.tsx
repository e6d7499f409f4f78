/** The second step before a draft is published: what changes in the text, for callers, in the rows, and who calls it. */

import { useEffect, useRef, useState } from 'preact/hooks';
import type { Checked, ContractChange } from '../../../state/check.ts';
import { needs } from '../../../state/permissions.ts';
import type { Draft } from '../../../state/query-editor.ts';
import type { StoredQueryEditor } from '../../../state/stored-query-editor.ts';
import { useAction } from '../../../ui/action.ts';
import { Tick } from '../../../ui/field.tsx';
import { moment } from '../../../ui/format.ts';
import { Icon } from '../../../ui/icons.tsx';
import { useLoad } from '../../../ui/load.tsx';
import { notify } from '../../../ui/notice.tsx';
import { ProblemBox } from '../../../ui/problem.tsx';
import { Callers } from './callers.tsx';
import { checkInTime } from './check-in-time.ts';
import { ContractChanges } from './contract-changes.tsx';
import { lossesOf } from './losses.ts';
import { RowChanges } from './row-changes.tsx';
import { TextChanges } from './text-changes.tsx';

/** The pause after the last change of the draft before it is looked at again. */
const pauseMs = 400;

/** Returns the draft once it was not changed for a moment. */
function useSettled(draft: Draft): Draft {
  const [settled, setSettled] = useState(draft);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(draft), pauseMs);
    return () => clearTimeout(timer);
  }, [draft]);
  return settled;
}

export function PublishPanel({ editor, onClose }: { editor: StoredQueryEditor; onClose(): void }) {
  const draft = editor.draft.value;
  const published = editor.published.value;
  if (draft === undefined || published === undefined) return null;
  return <Panel editor={editor} draft={draft} published={published} onClose={onClose} />;
}

interface PanelProps {
  editor: StoredQueryEditor;
  draft: Draft;
  published: Draft;
  onClose(): void;
}

function Panel({ editor, draft, published, onClose }: PanelProps) {
  const settled = useSettled(draft);
  const checked = useLoad(
    (signal) => checkInTime(editor.checkedText(settled), signal),
    [
      settled,
      // Each reading of the query is another object.
      JSON.stringify(published),
    ],
  );
  const version = editor.version.value;
  const isReady = settled === draft && !checked.loading;
  const panel = usePanelKeys(onClose);
  const losses = lossesOf(published, settled);
  return (
    <section ref={panel} class="publish" aria-label="Publish">
      <header class="publish-head">
        {/* Its number is not known before: changes that make no version count, too. */}
        <h2 tabIndex={-1}>Publish a new version</h2>
        {version !== undefined && (
          <span class="hint">
            replaces version {version.number}, of {moment(version.at).slice(0, 10)}
          </span>
        )}
        <button type="button" class="quiet icon-only" aria-label="Keep as draft" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard scrolls it. */}
      <div class="publish-facts" tabIndex={0} role="region" aria-label="What changes">
        <TextChanges label={editor.label.value} before={published} after={draft} />
        <ContractChanges checked={checked.value} problem={checked.problem} losses={losses} />
        <RowChanges
          editor={editor}
          draft={settled}
          checked={checked.value}
          isUnchecked={checked.problem !== undefined}
        />
        <Callers queryId={editor.queryId} />
      </div>
      <PublishBar
        key={
          JSON.stringify(checked.value?.changes ?? []) +
          JSON.stringify(checked.value?.problems ?? []) +
          losses
        }
        editor={editor}
        checked={checked.value}
        losses={losses}
        isReady={isReady}
        onClose={onClose}
      />
    </section>
  );
}

/** Takes the focus, gives it back, and closes at Escape. */
function usePanelKeys(onClose: () => void) {
  const panel = useRef<HTMLElement>(null);
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    panel.current?.querySelector('h2')?.focus();
    return () => before?.isConnected && before.focus();
  }, []);
  useEffect(() => {
    const element = panel.current;
    const keydown = (event: KeyboardEvent) => {
      if (event.key === 'Escape' && !event.defaultPrevented) onClose();
    };
    element?.addEventListener('keydown', keydown);
    return () => element?.removeEventListener('keydown', keydown);
  }, [onClose]);
  return panel;
}

interface BarProps {
  editor: StoredQueryEditor;
  checked: Checked | undefined;
  losses: readonly string[];
  /** False until the draft that is shown was checked. */
  isReady: boolean;
  onClose(): void;
}

function PublishBar({ editor, checked, losses, isReady, onClose }: BarProps) {
  const [agreed, setAgreed] = useState(false);
  const { busy, problem, run } = useAction();
  const button = useRef<HTMLButtonElement>(null);
  const risk = riskOf(checked, losses);
  const isDisabled = busy || !isReady || !editor.dirty.value || (risk !== undefined && !agreed);
  useEffect(() => {
    // Whoever opened the panel by a key goes on by Enter.
    if (!isDisabled && document.activeElement?.closest('.publish-head')) button.current?.focus();
  }, [isDisabled]);
  // The panel closes with the draft, and at a conflict. It stays if the draft was edited meanwhile.
  const publish = () =>
    run(async () => {
      await editor.publish();
      const number = editor.version.value?.number;
      notify(number === undefined ? 'Published.' : `Published version ${number}.`);
    });
  return (
    <footer class="publish-bar">
      {problem !== undefined && <ProblemBox problem={problem} />}
      {risk !== undefined && <Tick label={risk} checked={agreed} onChange={setAgreed} />}
      <div class="actions">
        <button type="button" onClick={onClose}>
          Keep as draft
        </button>
        <button
          ref={button}
          type="button"
          class="primary"
          onClick={() => void publish()}
          {...needs('queries:write', isDisabled)}
        >
          Publish
        </button>
      </div>
    </footer>
  );
}

/** What the person must agree to before the draft is published. */
function riskOf(checked: Checked | undefined, losses: readonly string[]): string | undefined {
  if (checked?.problems.some(({ severity }) => severity === 'error'))
    return 'Publish although callers would get an error';
  const breaking = [
    ...losses.map(() => 'calls can fail'),
    ...(checked?.changes ?? []).filter((one) => one.breaking).map(goes),
  ];
  const [first] = breaking;
  if (first === undefined) return undefined;
  if (breaking.length === 1) return `Publish although ${first}`;
  return `Publish although ${breaking.length} changes can break callers`;
}

const goes = ({ name, change }: ContractChange): string =>
  change === 'removed' ? `${name} goes` : change === 'added' ? `${name} comes` : `${name} changes`;
