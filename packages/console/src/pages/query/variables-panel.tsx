/** A field for each variable of the query. */

import { variableTypes } from '@datahub/contract/variable-types';
import { useId, useState } from 'preact/hooks';
import { parseExact, toText } from '../../api/exact.ts';
import type { Variable } from '../../api/types.ts';
import { may } from '../../state/permissions.ts';
import type { QueryEditor } from '../../state/query-editor.ts';
import { isNumberText } from '../../state/rows/scan.ts';
import {
  defaultText,
  isBooleanType,
  isJsonType,
  type Value,
  type VariableField,
} from '../../state/variables.ts';
import { Chips } from '../../ui/chips.tsx';
import { FormDialog } from '../../ui/dialog.tsx';
import { Choice, Field, Tick } from '../../ui/field.tsx';
import { Icon } from '../../ui/icons.tsx';

export function VariablesPanel({ editor, shown }: { editor: QueryEditor; shown: boolean }) {
  const [edited, setEdited] = useState<string>();
  return (
    <section class="variables" aria-label="Variables">
      <h2>Variables</h2>
      {editor.fields.value.length === 0 && (
        <p class="hint">
          No variables yet. Write <code>:name</code> in place of a value. The driver binds the value, so it
          never becomes part of the text.
        </p>
      )}
      <VariableInputs editor={editor} shown={shown} onEdit={may('queries:write') ? setEdited : undefined} />
      {edited !== undefined && (
        <VariableDialog editor={editor} name={edited} onClose={() => setEdited(undefined)} />
      )}
    </section>
  );
}

interface InputsProps {
  editor: QueryEditor;
  /** Shows what is wrong with values that were not typed yet, too. */
  shown: boolean;
  /** Declares a variable. Without it, only values can be given. */
  onEdit?: ((name: string) => void) | undefined;
}

export function VariableInputs({ editor, shown, onEdit }: InputsProps) {
  const { faults } = editor.sent.value;
  const values = editor.values.value;
  return (
    <>
      {editor.fields.value.map((field) => (
        <VariableInput
          key={field.key}
          field={field}
          value={values[field.key]}
          fault={shown || values[field.key] !== undefined ? faults[field.key] : undefined}
          onChange={(value) => {
            editor.values.value = { ...editor.values.value, [field.key]: value };
          }}
          onEdit={onEdit && (() => onEdit(field.key))}
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

function VariableControl({ field, value, fault, onChange, id }: InputProps & { id: string }) {
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
  const rest = {
    ...common,
    value: text,
    autocomplete: 'off',
    spellcheck: false,
    placeholder: fallback === undefined ? placeholders[field.shownType] : `Default: ${fallback}`,
  };
  if (isJsonType(field.shownType))
    return <textarea {...rest} rows={3} onInput={({ currentTarget }) => setText(currentTarget.value)} />;
  const input = {
    ...rest,
    onInput: ({ currentTarget }: { currentTarget: { value: string } }) => setText(currentTarget.value),
  };
  if (field.secret) return <input {...input} type="password" autocomplete="off" />;
  return field.shownType === 'date' ? <input {...input} type="date" /> : <input {...input} type="text" />;
}

const placeholders: Record<string, string> = {
  timestamp: '2026-11-01T00:00:00',
  timestamptz: '2026-11-01T00:00:00Z',
  uuid: '00000000-0000-0000-0000-000000000000',
  json: '{"a": 1}',
  jsonb: '{"a": 1}',
};

const isText = (type: string) => ['', 'string', 'date', 'timestamp', 'uuid'].includes(type);

/** Converts typed text to a value of the type; `undefined` for an empty text. */
function typedValue(text: string, type: string, list: boolean): Variable['value'] {
  if (text === '') return undefined;
  if (text === 'null') return null;
  if (list) return parseExact(text.trim().startsWith('[') ? text : `[${text}]`);
  if (isText(type)) return type === '' && isNumberText(text) ? parseExact(text) : text;
  return parseExact(text);
}

function VariableDialog({ editor, name, onClose }: { editor: QueryEditor; name: string; onClose(): void }) {
  const declared = editor.draft.value?.context.find(({ key }) => key === name);
  const [type, setType] = useState(declared?.type?.replace(/\[\]$/, '') ?? '');
  const [list, setList] = useState(declared?.type?.endsWith('[]') ?? false);
  const [required, setRequired] = useState(declared?.required ?? false);
  const [fallback, setFallback] = useState(declared?.value === undefined ? '' : toText(declared.value));
  const [choices, setChoices] = useState((declared?.enum ?? []).map(toText).join('\n'));
  const [description, setDescription] = useState(declared?.description ?? '');
  const [secret, setSecret] = useState(declared?.secret ?? false);
  const submit = async () => {
    const value = typedValue(fallback.trim(), type, list);
    const allowed = choices.split('\n').filter((line) => line.trim() !== '');
    editor.declare({
      key: name,
      // Members that are undefined are left out.
      type: type === '' ? undefined : list ? `${type}[]` : type,
      value: secret ? undefined : value,
      // False was declared elsewhere: without a value it is null.
      required: required || (declared?.required === false ? false : undefined),
      enum:
        allowed.length === 0 ? undefined : allowed.map((one) => typedValue(one.trim(), type, false) ?? null),
      description: description === '' ? undefined : description,
      secret: secret || undefined,
    });
  };
  const types = [['', 'Any'], ...variableTypes.map((one) => [one, one])] as [string, string][];
  return (
    <FormDialog title={`Variable ${name}`} action="Apply" onClose={onClose} onSubmit={submit}>
      <Choice label="Type" value={type} options={types} onChange={setType} />
      {type !== '' && <Tick label="A list of these" checked={list} onChange={setList} />}
      <Tick label="Required" checked={required} onChange={setRequired} />
      <Tick
        label="Secret: its value stays out of addresses, links and logs"
        checked={secret}
        onChange={setSecret}
      />
      {!secret && (
        <Field
          label="Default"
          value={fallback}
          onInput={setFallback}
          hint={
            list
              ? 'JSON, such as [1, 2]. Empty: no default.'
              : 'The value if a call sends none. Empty: no default. null: NULL.'
          }
        />
      )}
      <Field
        label="Choices"
        value={choices}
        onInput={setChoices}
        rows={3}
        hint="One per line. Only these values are accepted."
      />
      <Field label="Description" value={description} onInput={setDescription} />
    </FormDialog>
  );
}
