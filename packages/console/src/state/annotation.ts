/** A classifier that labels a column of the rows of a run. The query stays as it is. */

export interface Annotation {
  classifierId: string;
  /** The name of the classifier. */
  name: string;
  /** The column whose texts it reads. */
  text: string;
  /** The name of the column of labels; that of the confidence ends with `Confidence`. */
  as: string;
}

/** The member `options.annotate` of an execution. */
export const annotateOption = (annotation: Annotation | undefined) =>
  annotation && [{ classifier: annotation.classifierId, text: annotation.text, as: annotation.as }];

/** A name for the column of labels that no column of the rows has. */
export function labelName(name: string, taken: readonly string[]): string {
  const plain = name.trim().slice(0, 100) || 'label';
  const isTaken = (one: string) => taken.includes(one) || taken.includes(`${one}Confidence`);
  let found = plain;
  for (let count = 2; isTaken(found); count++) found = `${plain} ${count}`;
  return found;
}
