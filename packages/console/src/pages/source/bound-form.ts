/** Binds the fields of the form of a source to its texts and their faults. */

import type { FormFaults } from './form-faults.ts';
import { fieldNames, type SourceForm } from './settings.ts';

export interface BoundForm {
  form: SourceForm;
  faults: FormFaults;
  onChange(form: SourceForm): void;
}

type TextName = Exclude<keyof SourceForm, 'srv'>;

/** What `Field` and `Choice` need of a text: its name, its value, its fault, and how it changes. */
export function bindTexts({ form, faults, onChange }: BoundForm) {
  const set = (name: TextName) => (value: string) => onChange({ ...form, [name]: value });
  const shown = (name: TextName) => ({
    label: fieldNames[name],
    value: form[name],
    fault: faults[name],
  });
  return {
    field: (name: TextName) => ({ ...shown(name), onInput: set(name) }),
    choice: (name: TextName) => ({ ...shown(name), onChange: set(name) }),
  };
}
