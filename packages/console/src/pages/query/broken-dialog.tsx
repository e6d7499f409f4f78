/** Asks before a query is created that the database rejects. */

import { useState } from 'preact/hooks';
import { type Checked, type CheckedText, errorsIn } from '../../state/check.ts';
import { Dialog } from '../../ui/dialog.tsx';

interface Pending {
  errors: Checked['problems'];
  save(): Promise<unknown>;
}

/** `check` resolves to true if the text has no errors. Otherwise it opens the dialog, whose button calls `save`. */
export function useBrokenCheck() {
  const [pending, setPending] = useState<Pending>();
  const check = async (text: CheckedText, save: () => Promise<unknown>): Promise<boolean> => {
    const errors = await errorsIn(text);
    if (errors.length > 0) setPending({ errors, save });
    return errors.length === 0;
  };
  const close = () => setPending(undefined);
  const dialog = pending && (
    <Dialog title="Create a broken query?" onClose={close}>
      <div class="form">
        <p>It was not created, because callers would get an error:</p>
        <ul>
          {pending.errors.map(({ code, detail, sql }) => (
            <li key={code + detail}>
              {sql?.line !== undefined && `Line ${sql.line}: `}
              {detail}
            </li>
          ))}
        </ul>
        <div class="actions">
          <button type="button" onClick={close}>
            Keep editing
          </button>
          <button
            type="button"
            class="danger"
            onClick={() => {
              close();
              void pending.save();
            }}
          >
            Create anyway
          </button>
        </div>
      </div>
    </Dialog>
  );
  return { check, dialog };
}
