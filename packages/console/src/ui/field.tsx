/** A labelled input with a hint. */

import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

interface FieldProps {
  label: string;
  value: string;
  onInput(value: string): void;
  hint?: ComponentChildren;
  /** What is wrong with the value. */
  fault?: string | undefined;
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
  const { label, value, onInput, hint, fault, rows, autofocus, mono, suggestions, ...others } = props;
  const { type = 'text', ...rest } = others;
  const id = useId();
  const common = {
    id,
    value,
    class: mono ? 'mono' : undefined,
    list: suggestions === undefined ? undefined : `${id}-suggestions`,
    autocomplete: 'off',
    spellcheck: false,
    'aria-invalid': fault === undefined ? undefined : true,
    'aria-describedby': describedBy(id, hint, fault),
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
      {fault !== undefined && (
        <p class="fault" id={`${id}-fault`}>
          {fault}
        </p>
      )}
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}

/** The ids of the elements that describe the field. */
function describedBy(id: string, hint: ComponentChildren, fault: string | undefined): string | undefined {
  const ids = [
    ...(fault === undefined ? [] : [`${id}-fault`]),
    ...(hint === undefined ? [] : [`${id}-hint`]),
  ];
  return ids.join(' ') || undefined;
}

interface ChoiceProps {
  label: string;
  value: string;
  options: readonly (readonly [string, string])[];
  onChange(value: string): void;
  hint?: string;
  fault?: string | undefined;
}

export function Choice({ label, value, options, onChange, hint, fault }: ChoiceProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        value={value}
        aria-invalid={fault === undefined ? undefined : true}
        aria-describedby={describedBy(id, undefined, fault)}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
      >
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
      {fault !== undefined && (
        <p class="fault" id={`${id}-fault`}>
          {fault}
        </p>
      )}
      {hint !== undefined && <p class="hint">{hint}</p>}
    </div>
  );
}

interface TickProps {
  label: ComponentChildren;
  checked: boolean;
  onChange(checked: boolean): void;
  hint?: string;
}

export function Tick({ label, checked, onChange, hint }: TickProps) {
  const id = useId();
  return (
    <>
      <label class="tick">
        <input
          type="checkbox"
          checked={checked}
          aria-describedby={describedBy(id, hint, undefined)}
          onChange={({ currentTarget }) => onChange(currentTarget.checked)}
        />
        <span>{label}</span>
      </label>
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </>
  );
}
