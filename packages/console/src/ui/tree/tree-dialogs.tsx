/** Dialogs that change the tree: rename, move, delete, new folder. */

import { useState } from 'preact/hooks';
import type { Query, Source, TreeNode } from '../../api/types.ts';
import { affectedBy } from '../../state/affected.ts';
import { go, route } from '../../state/route.ts';
import {
  askedChange,
  canMove,
  createFolder,
  move,
  namedAt,
  nameIn,
  nodeBody,
  pathOf,
  remove,
  type TreeChange,
} from '../../state/tree-actions.ts';
import { category, findNode, hubId, loadTree, walk } from '../../state/workspace.ts';
import { useChangedForm } from '../changed-form.tsx';
import { FormDialog } from '../dialog.tsx';
import { Choice, Field } from '../field.tsx';
import { count } from '../format.ts';
import { useLoad } from '../load.tsx';
import { notify } from '../notice.tsx';

const namesMax = 8;

/** Shows the dialog of a change, until it is closed. */
export function TreeDialog({ change: { action, node } }: { change: TreeChange }) {
  const onClose = () => {
    askedChange.value = undefined;
  };
  if (action === 'rename') return <RenameDialog node={node} onClose={onClose} />;
  if (action === 'move') return <MoveDialog node={node} onClose={onClose} />;
  if (action === 'delete') return <DeleteDialog node={node} onClose={onClose} />;
  return <FolderDialog parent={node} onClose={onClose} />;
}

interface NodeDialogProps {
  node: TreeNode;
  onClose(): void;
}

function RenameDialog({ node, onClose }: NodeDialogProps) {
  const changed = useChangedForm<TreeNode | Query | Source, { label: string }>({
    path: namedAt(node),
    sentTo: pathOf(node),
    first: { label: node.label },
    formOf: (now) => ({ label: nameIn(now, node) }),
    names: { label: 'Name' },
  });
  const { label } = changed.form;
  const submit = async () => {
    await changed.save(() => nodeBody(node, { label: label.trim() }));
    await loadTree();
  };
  return (
    <FormDialog
      title={`Rename ${node.nodeType}`}
      action="Rename"
      disabled={label.trim() === ''}
      onClose={onClose}
      onSubmit={submit}
      onTheirs={changed.takeTheirs}
    >
      <Field label="Name" value={label} onInput={(next) => changed.set({ label: next })} required autofocus />
    </FormDialog>
  );
}

export function FolderDialog({ parent, onClose }: { parent: TreeNode; onClose(): void }) {
  const [label, setLabel] = useState('');
  const where = parent.nodeType === 'folder' ? ` in “${parent.label}”` : '';
  return (
    <FormDialog
      title={`New folder${where}`}
      action="Create folder"
      disabled={label.trim() === ''}
      onClose={onClose}
      onSubmit={() => createFolder(label.trim(), parent.nodeId)}
    >
      <Field label="Name" value={label} onInput={setLabel} required autofocus />
    </FormDialog>
  );
}

function MoveDialog({ node, onClose }: NodeDialogProps) {
  const found = findNode(node.nodeId);
  const root = found?.path.find(({ nodeType }) => nodeType === 'category') ?? category('queries');
  const targets = root === undefined ? [] : [{ node: root, path: [] as TreeNode[] }, ...walk(root, [root])];
  const options = targets
    .filter(({ node: target, path }) => canMove(node, target, path))
    .map(
      ({ node: target, path }) =>
        [target.nodeId, [...path, target].map(({ label }) => label).join(' / ')] as const,
    );
  const [to, setTo] = useState(options[0]?.[0] ?? '');
  if (options.length === 0) {
    return (
      <FormDialog
        title={`Move “${node.label}”`}
        action="Close"
        onClose={onClose}
        onSubmit={async () => undefined}
      >
        <p>There is no other folder yet. Create one first.</p>
      </FormDialog>
    );
  }
  const submit = async () => {
    await move(node, to);
    notify(`Moved “${node.label}”.`);
  };
  return (
    <FormDialog title={`Move “${node.label}”`} action="Move" onClose={onClose} onSubmit={submit}>
      <Choice label="To" value={to} options={options} onChange={setTo} />
    </FormDialog>
  );
}

export function DeleteDialog({ node, onClose }: NodeDialogProps) {
  const affected = useLoad((signal) => affectedBy(node, signal), [node.nodeId]);
  const submit = async () => {
    await remove(node);
    notify(`Deleted “${node.label}”.`);
    if (route.value[3] === node.nodeId) go('hub', hubId.value ?? '');
  };
  return (
    <FormDialog title={`Delete “${node.label}”?`} action="Delete" danger onClose={onClose} onSubmit={submit}>
      {affected.loading && <p role="status">Asking who uses it …</p>}
      {affected.problem !== undefined && <p>{unknown[node.nodeType]}</p>}
      {affected.value !== undefined && <Affected {...affected.value} />}
    </FormDialog>
  );
}

/** What stays true if nobody can say who uses it. */
const unknown: Partial<Record<string, string>> = {
  query: 'Programs that run it by its id get an error. This key may not see who they are.',
  source: 'Its queries remain and fail with SOURCE_GONE until they have another source.',
};

function Affected({ words, names }: { words: string; names: string[] }) {
  return (
    <>
      <p>{words}</p>
      {names.length > 0 && (
        <ul class="affected">
          {names.slice(0, namesMax).map((name) => (
            <li key={name}>{name}</li>
          ))}
          {names.length > namesMax && <li class="note">and {count(names.length - namesMax)} more</li>}
        </ul>
      )}
    </>
  );
}
