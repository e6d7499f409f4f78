/** Which source a query runs on. */

import { Choice } from '../parts/field.tsx';
import { engineName } from '../parts/format.ts';
import { sources } from '../shell/workspace.ts';

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
