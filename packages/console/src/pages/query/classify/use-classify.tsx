/** Labels a column of the rows with a classifier, and corrects labels. */

import type { ComponentChild } from 'preact';
import { useState } from 'preact/hooks';
import type { Annotation } from '../../../state/annotation.ts';
import { may } from '../../../state/permissions.ts';
import type { GridColumn } from '../../../state/rows/row-store.ts';
import { textOf } from '../../../state/rows/scan.ts';
import type { StoredQueryEditor } from '../../../state/stored-query-editor.ts';
import type { MenuItem } from '../../../ui/menu.tsx';
import { CorrectDialog } from '../../classifier/correct-label.tsx';
import { AnnotationNote } from './annotation-note.tsx';
import { ClassifyDialog } from './classify-dialog.tsx';

export interface Classifying {
  columnItems(column: GridColumn): MenuItem[];
  onLabel(row: number): void;
  /** Says which classifier labels the rows, and how good it is. */
  note: ComponentChild;
  dialog: ComponentChild;
}

interface Labelled {
  row: number;
  text: string;
  label: string;
}

/** Only the rows of stored queries that read are labelled. */
export function useClassify(editor: StoredQueryEditor): Classifying {
  const [column, setColumn] = useState<string>();
  const [labelled, setLabelled] = useState<Labelled>();
  const { annotation } = editor.runner.state.value;
  const isPossible = !editor.isDraft.value && !editor.writes && may('classifiers:predict');
  const columnItems = ({ name, numeric, added }: GridColumn): MenuItem[] => {
    // The menu would classify other rows than those that it is in.
    if (!isPossible || numeric || editor.rowsOf.value !== undefined) return [];
    if (added !== undefined) return [{ label: 'Remove the labels', run: () => editor.annotate(undefined) }];
    return [{ label: 'Classify this column …', run: () => setColumn(name) }];
  };
  const onLabel = (row: number) => {
    if (annotation !== undefined) setLabelled(labelledIn(editor, annotation, row));
  };
  const close = () => {
    setColumn(undefined);
    setLabelled(undefined);
  };
  return {
    columnItems,
    onLabel,
    note: annotation && <AnnotationNote editor={editor} annotation={annotation} />,
    dialog: (
      <>
        {column !== undefined && <ClassifyDialog editor={editor} column={column} onClose={close} />}
        {labelled !== undefined && annotation !== undefined && (
          <CorrectDialog
            classifier={annotation}
            {...labelled}
            onCorrected={(label) => editor.runner.correct(labelled.row, label)}
            onClose={close}
          />
        )}
      </>
    ),
  };
}

/** The hub classifies a value that is no text by its JSON text. */
function labelledIn(editor: StoredQueryEditor, { text, as }: Annotation, row: number): Labelled | undefined {
  const { store } = editor.runner.state.value;
  if (store === undefined) return undefined;
  const cells = store.cells(row);
  const jsonOf = (name: string) => cells[store.columns.findIndex((one) => one.name === name)];
  const [value, label] = [jsonOf(text), jsonOf(as)];
  if (value === undefined || value === 'null') return undefined;
  return { row, text: textOf(value), label: label === undefined ? '' : textOf(label) };
}
