/** Several things of a list: the chosen ones as chips, and a list that adds one. */

import { Choice } from '../../ui/field.tsx';
import { Icon } from '../../ui/icons.tsx';

interface ChosenProps {
  label: string;
  /** What applies if nothing is chosen. */
  everything: string;
  /** The entry of the list that adds another one. */
  add: string;
  ids: string[];
  options: readonly (readonly [id: string, label: string])[];
  onChange(ids: string[]): void;
}

export function Chosen({ label, everything, add, ids, options, onChange }: ChosenProps) {
  const labels = new Map(options);
  const others = options.filter(([id]) => !ids.includes(id));
  return (
    <div>
      <Choice
        label={label}
        value=""
        options={[['', ids.length === 0 ? everything : add], ...others]}
        onChange={(id) => id !== '' && onChange([...ids, id])}
      />
      {ids.length > 0 && (
        <p class="chips-below">
          {ids.map((id) => (
            <span class="chip" key={id}>
              {labels.get(id) ?? id}
              <button
                type="button"
                aria-label={`Remove ${labels.get(id) ?? id}`}
                onClick={() => onChange(ids.filter((one) => one !== id))}
              >
                <Icon name="close" />
              </button>
            </span>
          ))}
        </p>
      )}
    </div>
  );
}
