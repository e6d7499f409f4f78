/** Pairs of a name and a value, such as variables with their values. */

import { Icon } from '../../ui/icons.tsx';

interface PairsProps {
  pairs: readonly (readonly [string, string])[];
  labels: readonly [string, string];
  placeholders: readonly [string, string];
  /** The text of the button that adds a pair. */
  add: string;
  onChange(pairs: [string, string][]): void;
}

export function Pairs({ pairs, labels, placeholders, add, onChange }: PairsProps) {
  const all = pairs.map(([name, value]): [string, string] => [name, value]);
  const change = (at: number, pair: [string, string]) => onChange(all.with(at, pair));
  return (
    <>
      {all.map(([name, value], i) => (
        <div class="pair" key={i}>
          <input
            aria-label={labels[0]}
            placeholder={placeholders[0]}
            value={name}
            onInput={({ currentTarget }) => change(i, [currentTarget.value, value])}
          />
          <input
            aria-label={labels[1]}
            placeholder={placeholders[1]}
            value={value}
            onInput={({ currentTarget }) => change(i, [name, currentTarget.value])}
          />
          <button
            type="button"
            class="quiet icon-only"
            aria-label={`Remove ${name || 'this variable'}`}
            onClick={() => onChange(all.toSpliced(i, 1))}
          >
            <Icon name="close" />
          </button>
        </div>
      ))}
      <button type="button" onClick={() => onChange([...all, ['', '']])}>
        {add}
      </button>
    </>
  );
}
