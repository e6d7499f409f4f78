/** Chooses the classifier that labels a column. */

import { useState } from 'preact/hooks';
import { callList } from '../../../api/client.ts';
import type { ListedClassifier } from '../../../api/types.ts';
import { labelName } from '../../../state/annotation.ts';
import { linkTo } from '../../../state/route.ts';
import type { StoredQueryEditor } from '../../../state/stored-query-editor.ts';
import { hubId } from '../../../state/workspace.ts';
import { FormDialog } from '../../../ui/dialog.tsx';
import { Choice } from '../../../ui/field.tsx';
import { useLoad } from '../../../ui/load.tsx';
import { Loading } from '../../../ui/page.tsx';
import { ProblemBox } from '../../../ui/problem.tsx';

interface ClassifyDialogProps {
  editor: StoredQueryEditor;
  column: string;
  onClose(): void;
}

export function ClassifyDialog({ editor, column, onClose }: ClassifyDialogProps) {
  const loaded = useLoad((signal) => callList<ListedClassifier>('v1/classifiers', { signal }), []);
  const [chosen, choose] = useState('');
  const known = loaded.value ?? [];
  const classifier = known.find(({ classifierId }) => classifierId === chosen) ?? known[0];
  const classify = async () => {
    if (classifier === undefined) return;
    const columns = editor.runner.state.value.store?.columns ?? [];
    const taken = columns.filter(({ added }) => added === undefined).map(({ name }) => name);
    const name = classifier.name || 'Classifier';
    editor.annotate({
      classifierId: classifier.classifierId,
      name,
      text: column,
      as: labelName(name, taken),
    });
  };
  return (
    <FormDialog
      title={`Classify “${column}”`}
      action="Classify"
      disabled={classifier === undefined}
      onClose={onClose}
      onSubmit={classify}
    >
      {loaded.problem !== undefined && <ProblemBox problem={loaded.problem} />}
      {loaded.value === undefined && loaded.problem === undefined && <Loading what="classifiers" />}
      {known.length > 0 && (
        <Choice
          label="Classifier"
          value={classifier?.classifierId ?? ''}
          options={known.map(({ classifierId, name }) => [classifierId, name])}
          onChange={choose}
        />
      )}
      {loaded.value?.length === 0 && <p>There is no classifier yet.</p>}
      <p class="hint">
        It adds its label and its confidence to the rows that you see. The query stays as it is.{' '}
        <a href={linkTo('hub', hubId.value ?? '', 'new-classifier')} onClick={onClose}>
          New classifier
        </a>
      </p>
    </FormDialog>
  );
}
