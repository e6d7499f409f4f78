/** A version beside another one: the settings and lines that differ. */

import { useMemo } from 'preact/hooks';
import type { QueryVersion } from '../../../api/types.ts';
import { sources } from '../../../state/workspace.ts';
import { counted } from '../../../ui/format.ts';
import { Scrolling, TableHead } from '../../../ui/table.tsx';
import { DiffLines } from './diff-lines.tsx';
import { type Difference, differencesOf } from './differences.ts';
import { compareLines, type DiffGap, type DiffLine } from './line-diff.ts';

interface ComparisonProps {
  version: QueryVersion;
  other: QueryVersion;
  /** True if the other one is the present query. */
  isPresent: boolean;
}

const sourceName = (id: string) => sources.value.find(({ sourceId }) => sourceId === id)?.label ?? id;

export function Comparison({ version, other, isPresent }: ComparisonProps) {
  const otherName = isPresent ? 'the present query' : `version ${other.number}`;
  const rows = useMemo(() => compareLines(other.text, version.text), [other.text, version.text]);
  const differences = differencesOf(other, version, sourceName);
  const sameText = other.text === version.text;
  if (sameText && differences.length === 0) {
    return <p class="empty">It is the same as {otherName}.</p>;
  }
  return (
    <>
      {differences.length > 0 && (
        <DifferenceTable
          differences={differences}
          heads={[isPresent ? 'Present' : `Version ${other.number}`, `Version ${version.number}`]}
        />
      )}
      <h3>Statement</h3>
      {sameText && <p class="hint">It is the same.</p>}
      {!sameText && rows === undefined && <WholeText version={version} />}
      {!sameText && rows !== undefined && (
        <>
          <p class="hint">{summaryOf(rows, version.number, otherName)}</p>
          <DiffLines rows={rows} />
        </>
      )}
    </>
  );
}

export function DifferenceTable({
  differences,
  heads,
}: {
  differences: Difference[];
  heads: [string, string];
}) {
  return (
    <Scrolling label="Settings that differ">
      <table class="facts differences">
        <TableHead names={['What', ...heads]} />
        <tbody>
          {differences.map(({ what, before, after }) => (
            <tr key={what}>
              <td>{what}</td>
              <td>{before}</td>
              <td>{after}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolling>
  );
}

function WholeText({ version }: { version: QueryVersion }) {
  return (
    <>
      <p class="hint">
        The statements differ too much to compare their lines. This is the one of version {version.number}.
      </p>
      <Scrolling label="Statement">
        <pre class="diff">{version.text}</pre>
      </Scrolling>
    </>
  );
}

function summaryOf(rows: (DiffLine | DiffGap)[], number: number, otherName: string): string {
  const linesOf = (kind: DiffLine['kind']) => counted(rows.filter((row) => row.kind === kind).length, 'line');
  return `+ ${linesOf('added')} only in version ${number}, − ${linesOf('removed')} only in ${otherName}`;
}
