/** The rows of a draft against the rows that callers get now, both read in one snapshot. */

import { toText } from '../../../api/exact.ts';
import type { Checked, RowDifference } from '../../../state/check.ts';
import { reads } from '../../../state/commands.ts';
import { may } from '../../../state/permissions.ts';
import type { Draft } from '../../../state/query-editor.ts';
import type { StoredQueryEditor } from '../../../state/stored-query-editor.ts';
import { count } from '../../../ui/format.ts';
import { useLoad } from '../../../ui/load.tsx';
import { Scrolling, TableHead } from '../../../ui/table.tsx';
import { checkInTime } from './check-in-time.ts';
import { Fact } from './fact.tsx';

interface RowChangesProps {
  editor: StoredQueryEditor;
  draft: Draft;
  checked: Checked | undefined;
  /** True if the check failed. */
  isUnchecked: boolean;
}

/** Why the rows are not compared. */
function reasonNot({ editor, draft, checked, isUnchecked }: RowChangesProps): string | undefined {
  if (!reads(draft.command)) return 'not compared, because it writes';
  if (editor.engine.value === 'mongodb') return 'MongoDB has no snapshot to compare them in';
  if (!may('queries:execute')) return 'this key may not read rows';
  const missing = Object.keys(editor.sent.value.faults);
  if (missing.length > 0) return `give ${missing.join(', ')} a value to compare them`;
  if (isUnchecked) return 'not compared';
  if (checked?.problems.some(({ severity }) => severity === 'error')) return 'none, it does not run';
  return undefined;
}

export function RowChanges(props: RowChangesProps) {
  const reason = reasonNot(props);
  if (reason !== undefined) return <Fact title="Rows" words={reason} />;
  if (props.checked === undefined) return <Fact title="Rows" words="…" />;
  return <ComparedRows {...props} />;
}

function ComparedRows({ editor, draft }: RowChangesProps) {
  const { context } = editor.sent.value;
  const loaded = useLoad(
    async (signal) => {
      const text = JSON.stringify(editor.checkedText(draft));
      const body = `${text.slice(0, -1)},"diff":true,"values":${context}}`;
      return (await checkInTime(body, signal)).diff;
    },
    [draft, context, JSON.stringify(editor.published.value)],
  );
  if (loaded.problem !== undefined) {
    return (
      <Fact title="Rows" words="could not be compared">
        <p class="hint">{loaded.problem.detail ?? loaded.problem.title}</p>
      </Fact>
    );
  }
  if (loaded.loading) return <Fact title="Rows" words="running both …" />;
  if (loaded.value === undefined) return <Fact title="Rows" words="not compared" />;
  return (
    <Fact title="Rows" words={wordsOf(loaded.value)}>
      {loaded.value.samples.length > 0 && <Samples samples={loaded.value.samples} />}
    </Fact>
  );
}

/** Such as `12 added, 3 removed, 41 changed · 68 → 77 in all`. */
function wordsOf({ added, removed, changed, unchanged }: RowDifference): string {
  const before = removed + changed + unchanged;
  const after = added + changed + unchanged;
  if (added + removed + changed === 0) return `the same ${count(after)}`;
  const parts = [
    added > 0 && `${count(added)} added`,
    removed > 0 && `${count(removed)} removed`,
    changed > 0 && `${count(changed)} changed`,
  ];
  return `${parts.filter(Boolean).join(', ')} · ${count(before)} → ${count(after)} in all`;
}

const signs = { added: '+', removed: '−', changed: '~' };
const words = { added: 'added', removed: 'removed', changed: 'changed' };

function Samples({ samples }: { samples: RowDifference['samples'] }) {
  const names = [...new Set(samples.flatMap(({ before, after }) => Object.keys({ ...before, ...after })))];
  return (
    <Scrolling label="Examples of rows that differ">
      <table class="facts row-changes">
        <TableHead names={['', ...names]} />
        <tbody>
          {samples.map(({ kind, before, after }, i) => (
            <tr key={i} data-kind={kind}>
              <td class="diff-sign">
                <span aria-hidden="true">{signs[kind]}</span>
                <span class="sr-only">{words[kind]}</span>
              </td>
              {names.map((name) => (
                <td key={name}>
                  <Change before={before?.[name]} after={after?.[name]} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolling>
  );
}

function Change({ before, after }: { before: unknown; after: unknown }) {
  if (after === undefined) return <>{shown(before)}</>;
  if (before === undefined || JSON.stringify(before) === JSON.stringify(after)) return <>{shown(after)}</>;
  // Quotes tell 1 from "1", where nothing else does.
  const isSame = shown(before) === shown(after);
  const [old, present] = [before, after].map(isSame ? (value) => JSON.stringify(value) : shown);
  return (
    <>
      <del>{old}</del> <ins>{present}</ins>
    </>
  );
}

const shown = (value: unknown): string => (value === undefined ? '' : toText(value));
