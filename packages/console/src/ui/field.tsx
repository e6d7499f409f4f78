/** A labelled input with a hint. */

import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

interface FieldProps {
  label: string;
  value: string;
  onInput(value: string): void;
  hint?: ComponentChildren;
  type?: 'text' | 'password';
  required?: boolean;
  placeholder?: string | undefined;
  autofocus?: boolean;
  rows?: number;
  /** For code. */
  mono?: boolean;
  suggestions?: string[];
}

export function Field(props: FieldProps) {
  const { label, value, onInput, hint, rows, autofocus, mono, suggestions, type = 'text', ...rest } = props;
  const id = useId();
  const common = {
    id,
    value,
    class: mono ? 'mono' : undefined,
    list: suggestions === undefined ? undefined : `${id}-suggestions`,
    autocomplete: 'off',
    spellcheck: false,
    'aria-describedby': hint === undefined ? undefined : `${id}-hint`,
    onInput: (event: { currentTarget: { value: string } }) => onInput(event.currentTarget.value),
    // The dialog or page that shows the field decides where the work begins.
    ref: (element: HTMLElement | null) => {
      if (autofocus && element !== null && element.dataset.focused === undefined) {
        element.dataset.focused = '';
        // A dialog that opens takes it from the attribute, a page from the call.
        element.setAttribute('autofocus', '');
        // Arrow keys that pass over a tab with the field go on from tab to tab.
        const passes = document.activeElement?.matches('[role=tab]:focus-visible') === true;
        if (!passes) queueMicrotask(() => element.focus());
      }
    },
    ...rest,
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {rows !== undefined && <textarea {...common} rows={rows} />}
      {rows === undefined &&
        (type === 'password' ? <input {...common} type="password" /> : <input {...common} type="text" />)}
      {suggestions !== undefined && (
        <datalist id={`${id}-suggestions`}>
          {suggestions.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
      )}
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}

interface ChoiceProps {
  label: string;
  value: string;
  options: readonly (readonly [string, string])[];
  onChange(value: string): void;
  hint?: string;
}

export function Choice({ label, value, options, onChange, hint }: ChoiceProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
      {hint !== undefined && <p class="hint">{hint}</p>}
    </div>
  );
}

export function Tick({
  label,
  checked,
  onChange,
}: {
  label: ComponentChildren;
  checked: boolean;
  onChange(checked: boolean): void;
}) {
  return (
    <label class="tick">
      <input
        type="checkbox"
        checked={checked}
        onChange={({ currentTarget }) => onChange(currentTarget.checked)}
      />
      <span>{label}</span>
    </label>
  );
}
