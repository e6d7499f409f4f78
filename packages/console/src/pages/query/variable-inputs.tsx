/** A field for each variable of the query. */

import { useId, useState } from 'preact/hooks';
import { toText } from '../../api/exact.ts';
import type { QueryEditor } from '../../state/query-editor.ts';
import {
  defaultText,
  isBooleanType,
  isJsonType,
  isTimeType,
  ownOf,
  type Value,
  type VariableField,
} from '../../state/variables.ts';
import { Chips } from '../../ui/chips.tsx';
import { Icon } from '../../ui/icons.tsx';

interface InputsProps {
  editor: QueryEditor;
  /** Shows what is wrong with values that were not typed yet, too. */
  shown: boolean;
  /** Declares a variable. Without it, only values can be given. */
  onEdit?: ((name: string) => void) | undefined;
  /** What Enter in a field does. */
  onEnter?: (() => void) | undefined;
}

export function VariableInputs({ editor, shown, onEdit, onEnter }: InputsProps) {
  const { faults } = editor.sent.value;
  const values = editor.values.value;
  return (
    <>
      {editor.fields.value.map((field) => (
        <VariableInput
          key={field.key}
          field={field}
          value={ownOf(values, field.key)}
          fault={shown || ownOf(values, field.key) !== undefined ? ownOf(faults, field.key) : undefined}
          onChange={(value) => {
            editor.values.value = { ...editor.values.value, [field.key]: value };
          }}
          onEdit={onEdit && (() => onEdit(field.key))}
          onEnter={onEnter}
        />
      ))}
    </>
  );
}

/** Moves the focus to the first variable whose value is missing or does not fit. False if there is none. */
export function focusFault({ sent }: QueryEditor): boolean {
  const [first] = Object.keys(sent.value.faults);
  if (first === undefined) return false;
  const field = document.querySelector(`[data-variable="${CSS.escape(first)}"]`);
  field?.querySelector<HTMLElement>('input, select, textarea')?.focus();
  return true;
}

interface InputProps {
  field: VariableField;
  value: Value | undefined;
  fault: string | undefined;
  onChange(value: Value | undefined): void;
  onEdit: (() => void) | undefined;
  onEnter: (() => void) | undefined;
}

function VariableInput(props: InputProps) {
  const { field, value, fault, onChange, onEdit } = props;
  const id = useId();
  const isNull = value?.kind === 'null';
  const isEmptyText = value?.kind === 'text' && value.text === '';
  const takesText = !field.list && field.enum === undefined && !isBooleanType(field.shownType);
  return (
    <div class="field variable" data-variable={field.key}>
      <div class="variable-head">
        {field.list && !isNull ? <span class="label">{field.key}</span> : <label for={id}>{field.key}</label>}
        <span class="note">
          {field.shownType || 'any type'}
          {field.required && ' · required'}
          {value === undefined &&
            isTimeType(field.shownType) &&
            defaultText(field) !== undefined &&
            ' · default'}
          {field.secret && ' · secret'}
        </span>
        <span class="variable-actions">
          {takesText && /^(string|text|varchar|char|)$/.test(field.shownType) && (
            <button
              type="button"
              class="mini"
              aria-pressed={isEmptyText}
              title="Send an empty text"
              aria-label={`Send ${field.key} as empty text`}
              onClick={() => onChange(isEmptyText ? undefined : { kind: 'text', text: '' })}
            >
              ""
            </button>
          )}
          <button
            type="button"
            class="mini"
            aria-pressed={isNull}
            title="Send null"
            aria-label={`Send ${field.key} as null`}
            onClick={() => onChange(isNull ? undefined : { kind: 'null' })}
          >
            null
          </button>
          {onEdit !== undefined && (
            <button
              type="button"
              class="mini icon-only"
              aria-label={`Declare ${field.key}`}
              title="Type, default, choices"
              onClick={onEdit}
            >
              <Icon name="edit" />
            </button>
          )}
        </span>
      </div>
      {isNull ? <input id={id} value="null" readOnly class="null" /> : <VariableControl {...props} id={id} />}
      {field.description !== undefined && field.description !== '' && <p class="hint">{field.description}</p>}
      {fault !== undefined && (
        <p class="fault" id={`${id}-fault`}>
          {fault}
        </p>
      )}
    </div>
  );
}

function VariableControl({ field, value, fault, onChange, onEnter, id }: InputProps & { id: string }) {
  const text = value?.kind === 'text' ? value.text : '';
  const fallback = defaultText(field);
  const common = {
    id,
    'aria-invalid': fault !== undefined,
    'aria-describedby': fault === undefined ? undefined : `${id}-fault`,
  };
  const setText = (next: string) => onChange(next === '' ? undefined : { kind: 'text', text: next });
  if (field.list) {
    return (
      <div class="chips-only">
        <Chips
          label={field.key}
          values={value?.kind === 'list' ? value.items : text === '' ? [] : [text]}
          placeholder={fallback ?? 'Type a value and press Enter'}
          onChange={(items) => onChange({ kind: 'list', items })}
        />
      </div>
    );
  }
  const choices = field.enum ?? (isBooleanType(field.shownType) ? [true, false] : undefined);
  if (choices !== undefined) {
    return (
      <select {...common} value={text} onChange={({ currentTarget }) => setText(currentTarget.value)}>
        <option value="">{fallback === undefined ? 'Not sent' : `Default: ${fallback}`}</option>
        {choices.map((choice) => (
          <option key={toText(choice)} value={JSON.stringify(choice)}>
            {toText(choice)}
          </option>
        ))}
      </select>
    );
  }
  return <TextControl {...{ field, text, common, onText: setText, onEnter }} />;
}

interface TextControlProps {
  field: VariableField;
  text: string;
  common: object;
  onText(text: string): void;
  onEnter: (() => void) | undefined;
}

/** A default of a date or a time is drawn as a value, because an empty field of a date looks like no date. */
function TextControl({ field, text, common, onText, onEnter }: TextControlProps) {
  // While a person types, the field can be empty.
  const [isTyped, setTyped] = useState(false);
  const fallback = defaultText(field);
  const isDrawn = isTimeType(field.shownType) && fallback !== undefined && text === '' && !isTyped;
  const rest = {
    ...common,
    value: isDrawn ? fallback : text,
    class: isDrawn ? 'usual' : undefined,
    autocomplete: 'off',
    spellcheck: false,
    placeholder: fallback === undefined ? placeholders[field.shownType] : `Default: ${fallback}`,
    onInput: ({ currentTarget }: { currentTarget: { value: string } }) => {
      setTyped(true);
      onText(currentTarget.value);
    },
    onBlur: () => setTyped(false),
  };
  if (isJsonType(field.shownType)) return <textarea {...rest} rows={3} />;
  const line = {
    ...rest,
    onKeyDown: (event: KeyboardEvent) => {
      const { key, ctrlKey, metaKey, altKey, isComposing } = event;
      if (key !== 'Enter' || ctrlKey || metaKey || altKey || isComposing || onEnter === undefined) return;
      event.preventDefault();
      onEnter();
    },
  };
  if (field.secret) return <input {...line} type="password" autocomplete="off" />;
  return field.shownType === 'date' ? <input {...line} type="date" /> : <input {...line} type="text" />;
}

const placeholders: Record<string, string> = {
  timestamp: '2026-11-01T00:00:00',
  timestamptz: '2026-11-01T00:00:00Z',
  uuid: '00000000-0000-0000-0000-000000000000',
  json: '{"a": 1}',
  jsonb: '{"a": 1}',
};
