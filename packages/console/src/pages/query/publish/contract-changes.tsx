/** What a draft changes for callers: its columns and variables, or the faults that the database finds in it. */

import type { Problem } from '../../../api/types.ts';
import type { Checked, ContractChange } from '../../../state/check.ts';
import { count, counted } from '../../../ui/format.ts';
import { Fact } from './fact.tsx';

const removals = { column: 'callers lose it', variable: 'calls that send it can fail' };
const signs = { added: '+', removed: '−', changed: '~' };

interface ContractChangesProps {
  checked: Checked | undefined;
  problem: Problem | undefined;
  losses: readonly string[];
}

export function ContractChanges({ checked, problem, losses }: ContractChangesProps) {
  if (problem !== undefined) {
    return (
      <Fact title="Contract" words="could not be checked">
        <p class="hint">{problem.detail ?? problem.title}</p>
      </Fact>
    );
  }
  if (checked === undefined) return <Fact title="Contract" words="asking the database …" />;
  const errors = checked.problems.filter(({ severity }) => severity === 'error');
  const { changes } = checked;
  const breaking = changes?.filter((one) => one.breaking) ?? [];
  const breaks = breaking.length + losses.length;
  const alarm =
    errors.length > 0
      ? 'The database rejects it'
      : breaks > 0
        ? counted(breaks, 'breaking change')
        : undefined;
  return (
    <Fact title="Contract" alarm={alarm} words={wordsOf(checked, breaking.length)}>
      {checked.problems.map(({ code, detail, sql }) => (
        <p key={code + detail}>
          {sql?.line !== undefined && `Line ${sql.line}: `}
          {detail}
        </p>
      ))}
      <ul class="contract-changes">
        {losses.map((loss) => (
          <li key={loss} data-breaking>
            <span class="diff-sign">{signs.changed}</span> {loss}
          </li>
        ))}
        {(changes ?? []).map((one) => (
          <li key={`${one.kind} ${one.name} ${one.member ?? ''}`} data-breaking={one.breaking}>
            <span class="diff-sign">{signs[one.change]}</span> <code>{one.name}</code>{' '}
            <span class="hint">{meaningOf(one)}</span>
          </li>
        ))}
      </ul>
    </Fact>
  );
}

function wordsOf({ changes, problems }: Checked, breaking: number): string {
  if (problems.some(({ severity }) => severity === 'error')) return '';
  // MongoDB describes no commands.
  if (changes === undefined) return 'the source does not describe it';
  if (changes.length === 0) return 'not changed';
  const harmless = changes.length - breaking;
  return harmless === 0 ? '' : `${count(harmless)} harmless`;
}

/** Such as `column removed: callers lose it`. */
function meaningOf({ kind, change, breaking, member, from, to }: ContractChange): string {
  if (change !== 'changed') {
    const effect = !breaking ? 'harmless' : change === 'removed' ? removals[kind] : 'callers must send it';
    return `${kind} ${change}: ${effect}`;
  }
  const values = from === undefined || to === undefined ? '' : ` from ${from} to ${to}`;
  return `${member ?? kind} changed${values}: ${breaking ? 'callers may break' : 'harmless'}`;
}
