/** Shows a key that the hub does not show again, until it is confirmed as copied. */

import { confirmKey, openKey, type ShownKey } from '../../state/shown-keys.ts';
import { CopyBlock } from '../../ui/copy-block.tsx';
import { Dialog } from '../../ui/dialog.tsx';

export function ShownKeyDialog({ shown }: { shown: ShownKey }) {
  const { name, secret, note, page } = shown;
  const close = () => {
    openKey.value = undefined;
  };
  return (
    <Dialog title={`“${name}”: the key, shown only now`} onClose={close} wide>
      <p>
        Copy it to where it is used. The hub does not store it. This tab keeps it until you confirm that you
        have copied it, or leave.
      </p>
      <CopyBlock text={secret} label="The key" />
      {page !== undefined && (
        <>
          <h3>{page.title}</h3>
          <CopyBlock text={page.text} label="Web page" />
        </>
      )}
      <p class="hint">{note}</p>
      <div class="actions">
        <button type="button" onClick={close}>
          Later
        </button>
        <button type="button" class="primary" onClick={() => confirmKey(shown)}>
          I have copied it
        </button>
      </div>
    </Dialog>
  );
}
