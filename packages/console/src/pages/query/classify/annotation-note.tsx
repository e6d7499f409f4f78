/** Which classifier labels the rows, and how often it was right. */

import type { Annotation } from '../../../state/annotation.ts';
import { linkTo } from '../../../state/route.ts';
import type { StoredQueryEditor } from '../../../state/stored-query-editor.ts';
import { hubId } from '../../../state/workspace.ts';
import { counted } from '../../../ui/format.ts';
import { Icon } from '../../../ui/icons.tsx';
import { MeasuredAccuracy } from '../../classifier/measured-accuracy.tsx';

export function AnnotationNote({
  editor,
  annotation,
}: {
  editor: StoredQueryEditor;
  annotation: Annotation;
}) {
  const { corrected = 0 } = editor.runner.state.value;
  const { classifierId, name, text } = annotation;
  return (
    <p class="annotation-note">
      <span>
        <a href={linkTo('hub', hubId.value ?? '', 'classifier', classifierId)}>{name}</a> labels {text}.{' '}
        <MeasuredAccuracy classifierId={classifierId} revision={corrected} /> Open a label to correct it.
        {corrected > 0 && ` You corrected ${counted(corrected, 'label')}; run again to see what it learned.`}
      </span>
      <button type="button" class="quiet" onClick={() => editor.annotate(undefined)}>
        <Icon name="close" /> Remove the labels
      </button>
    </p>
  );
}
