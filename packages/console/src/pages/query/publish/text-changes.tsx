/** What a draft changes in the text and the settings of a query. */

import { useMemo } from 'preact/hooks';
import type { Draft } from '../../../state/query-editor.ts';
import { sources } from '../../../state/workspace.ts';
import { count } from '../../../ui/format.ts';
import { DifferenceTable } from '../versions/comparison.tsx';
import { DiffLines } from '../versions/diff-lines.tsx';
import { differencesOf, type Settings } from '../versions/differences.ts';
import { compareLines, type DiffLine } from '../versions/line-diff.ts';
import { Fact } from './fact.tsx';

const sourceName = (id: string) => sources.value.find(({ sourceId }) => sourceId === id)?.label ?? id;

const settingsOf = (label: string, { cache, notNull, ...draft }: Draft): Settings => ({
  ...draft,
  label,
  ...(cache === null ? {} : { cache }),
  ...(notNull.length === 0 ? {} : { notNull }),
});

interface TextChangesProps {
  label: string;
  before: Draft;
  after: Draft;
}

export function TextChanges({ label, before, after }: TextChangesProps) {
  const rows = useMemo(() => compareLines(before.text, after.text), [before.text, after.text]);
  const differences = differencesOf(settingsOf(label, before), settingsOf(label, after), sourceName);
  const isSame = before.text === after.text;
  return (
    <>
      <Fact title="Text" words={isSame ? 'not changed' : rows === undefined ? 'another text' : wordsOf(rows)}>
        {!isSame && rows !== undefined && <DiffLines rows={rows} />}
      </Fact>
      {differences.length > 0 && (
        <Fact title="Settings" words={`${count(differences.length)} changed`}>
          <DifferenceTable differences={differences} heads={['Published', 'Draft']} />
        </Fact>
      )}
    </>
  );
}

/** Such as `4 lines added, 3 removed`. */
function wordsOf(rows: NonNullable<ReturnType<typeof compareLines>>): string {
  const lines = (kind: DiffLine['kind']) => rows.filter((row) => row.kind === kind).length;
  const [added, removed] = [lines('added'), lines('removed')];
  const parts = [added > 0 && `${count(added)} added`, removed > 0 && `${count(removed)} removed`];
  return `Lines: ${parts.filter(Boolean).join(', ')}`;
}
