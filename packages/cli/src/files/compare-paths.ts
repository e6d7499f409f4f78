/** Compares what files and the hub name by a path, such as watches and boards. */

interface Named {
  model: { path: string };
}

export type PathStep<Kind extends string, F extends Named, R extends Named> =
  | { kind: Kind; action: 'create'; name: string; file: F }
  | { kind: Kind; action: 'update'; name: string; file: F; remote: R; members: string[] }
  | { kind: Kind; action: 'delete'; name: string; remote: R };

export interface ComparedPaths<S> {
  changes: S[];
  /** Of what the files do not have. */
  deletions: S[];
}

interface Rules<Kind, Model> {
  kind: Kind;
  /** The names of the members that differ. */
  changed(mine: Model, theirs: Model): string[];
}

/** `present` is undefined if the plan has nothing to do with them. */
export function comparePaths<
  Kind extends string,
  M extends Named['model'],
  F extends { model: M },
  R extends { model: M },
>(
  files: readonly F[],
  present: readonly R[] | undefined,
  { kind, changed }: Rules<Kind, M>,
): ComparedPaths<PathStep<Kind, F, R>> {
  if (present === undefined) return { changes: [], deletions: [] };
  const known = new Map(present.map((one) => [one.model.path, one]));
  const changes = files.flatMap((file): PathStep<Kind, F, R>[] => {
    const name = file.model.path;
    const remote = known.get(name);
    if (remote === undefined) return [{ kind, action: 'create', name, file }];
    const members = changed(file.model, remote.model);
    return members.length === 0 ? [] : [{ kind, action: 'update', name, file, remote, members }];
  });
  for (const { model } of files) known.delete(model.path);
  const deletions = [...known].map(
    ([name, remote]): PathStep<Kind, F, R> => ({ kind, action: 'delete', name, remote }),
  );
  return { changes, deletions };
}
