/** The names of an answer's members: those of the columns, with duplicates numbered as `id_2`, `id_3`. */

/** The first column of a name keeps it. Numbered names avoid the names of other columns. */
export function uniqueNames(names: readonly string[]): string[] {
  const taken = new Set(names);
  if (taken.size === names.length) return [...names];
  const seen = new Set<string>();
  return names.map((name) => {
    if (!seen.has(name)) {
      seen.add(name);
      return name;
    }
    let number = 2;
    while (taken.has(`${name}_${number}`)) number++;
    const free = `${name}_${number}`;
    taken.add(free);
    return free;
  });
}
