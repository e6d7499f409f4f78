/** Which source a query runs on. */

import { sources } from '../../state/workspace.ts';
import { Choice } from '../../ui/field.tsx';
import { engineName } from '../../ui/format.ts';

interface SourceChoiceProps {
  value: string;
  onChange(sourceId: string): void;
}

export function SourceChoice({ value, onChange }: SourceChoiceProps) {
  const known = sources.value.map(
    ({ sourceId, label, engine }) => [sourceId, `${label} (${engineName(engine)})`] as const,
  );
  // A source that is gone is still the one that is stored.
  const options = known.some(([id]) => id === value) ? known : [[value, value] as const, ...known];
  return <Choice label="Source" value={value} options={options} onChange={onChange} />;
}
